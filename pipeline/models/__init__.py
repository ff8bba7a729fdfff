"""Fit, save and load models that predict from raw rows: encoders, kernels and learners."""
