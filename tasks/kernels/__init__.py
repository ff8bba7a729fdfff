"""Families of base kernels."""
