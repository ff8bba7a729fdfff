"""Kernel families, and base kernels on a training set."""
