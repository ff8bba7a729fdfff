"""Pure functions, arrays in and arrays out: kernels, statistics, weights, fits, measures.

Nothing here knows of Dask, of a run directory or of a command line.
"""
