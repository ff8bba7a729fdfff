"""Kernel weights: closed forms, quadratic programs and column generation."""
