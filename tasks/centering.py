"""Centering of kernels in feature space, with the means of the training samples (the paper, section 2.2)."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


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


def positive_part(centered: Floats, train: Integers) -> Floats:
    """Return the nearest positive semi-definite kernel: negative directions of the training part are cut off.

    Weights of any sign may give an indefinite kernel, which an SVM would accept silently.

    Parameters
    ----------
    centered
        (m, n): from `center_on`.
    """
    values, vectors = np.linalg.eigh(centered[train])
    kept = vectors[:, values > 0]
    return np.asarray((centered @ kept) @ kept.T)
