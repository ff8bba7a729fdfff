"""Compute kernels, statistics, weights, fits and metrics with pure functions of arrays.

Nothing in this package depends on Dask, on run directories or on the command line.
"""
