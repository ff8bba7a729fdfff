"""Determine kernel weights by closed forms, quadratic programs and column generation."""
