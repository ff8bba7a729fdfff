"""The arrays of a run: their names, dimensions and meaning."""

# name: (shape of one trial, meaning); p kernels, scaled to trace one on the training set
STATISTICS_ARRAYS = {
    "M": ("pp", "<K_k, K_l> of the centered kernels, training set"),
    "a": ("p", "<K_k, y y'> of the centered kernels, training set"),
    "trace": ("p", "trace of the centered kernels before scaling, training set; 0 for a constant kernel"),
    "M_test": ("pp", "<K_k, K_l> of the same kernels, centered on the test fold"),
    "a_test": ("p", "<K_k, y y'> of the same kernels, centered on the test fold"),
    "label_norms": ("2", "yc . yc of the centered labels, training set and test fold"),
    "alignment": ("p", "centered alignment of each kernel, training set; NaN where it is not defined"),
    "alignment_test": ("p", "centered alignment of each kernel, test fold; NaN where it is not defined"),
    "uncentered": ("p", "alignment of each kernel without centering, training set; NaN where it is not defined"),
    "unnormalised": ("p", "unnormalised centered alignment of each kernel, training set"),
    "diagonal": ("p", "largest K(x, x) of each kernel before centering and scaling, training set"),
    "theorem12": ("p", "Theorem 12 for each kernel, with probability 0.95; expectations over the training set"),
}


# The arrays of rank-one kernels. The others follow from products of columns and from single entries.
RANK_ONE_ARRAYS = tuple(name for name in STATISTICS_ARRAYS if name not in ("M", "M_test", "a_test", "diagonal"))
