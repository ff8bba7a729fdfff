"""Define kernel families, and compute base kernels on a training set."""
