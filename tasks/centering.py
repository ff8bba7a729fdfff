"""Centering of kernels in feature space, with the means of the training samples (the paper, section 2.2)."""

from tasks.arrays import Floats, Integers


def center_on(kernel: Floats, train: Integers) -> Floats:
    """The columns `train` of a kernel over all samples, centered with the means over `train`.

    Returns
    -------
    (m, n)
        `K_ij - mean_t K_it - mean_t K_tj + mean_st K_st` for every sample i and every training sample j.
    """
    columns = kernel[:, train]
    means = columns.mean(axis=1)
    columns -= means[:, None]
    columns -= (means[train] - means[train].mean())[None, :]
    return columns
