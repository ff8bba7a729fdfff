"""Center kernels in feature space, with the means of the training samples (section 2.2 of the paper)."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


def center_on(kernel: Floats, train: Integers) -> Floats:
    """Return the columns `train` of a kernel over all samples, centered with the means over `train`.

    Parameters
    ----------
    kernel
        Kernel of all samples, (m, m).
    train
        Indices of the n training samples.

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


def center_square(square: Floats) -> Floats:
    """Center the kernel of the training samples in place.

    Parameters
    ----------
    square
        (n, n), exactly symmetric, in C order.

    Returns
    -------
    offsets
        Deviations of the column means from their mean, (n,), for `center_rows`.
    """
    means = square.mean(axis=0)
    offsets = np.asarray(means - means.mean())
    square -= means[:, None]
    square -= offsets
    return offsets


def center_rows(rows: Floats, offsets: Floats) -> None:
    """Center rows of a kernel against the training samples in place, given the offsets of `center_square`."""
    rows -= rows.mean(axis=1)[:, None]
    rows -= offsets


def positive_part(centered: Floats, train: Integers) -> Floats:
    """Project a kernel onto the eigenvectors of its training part that have positive eigenvalues.

    Weights of any sign may result in an indefinite kernel, which an SVM would accept without an error.

    Parameters
    ----------
    centered
        (m, n), as returned by `center_on`.
    train
        Indices of the n training samples.

    Returns
    -------
    (m, n)
        The product of `centered` and the orthogonal projection onto these eigenvectors.
    """
    kept = positive_eigenvectors(centered[train])
    return np.asarray((centered @ kept) @ kept.T)


def positive_eigenvectors(square: Floats) -> Floats:
    """Return the eigenvectors of a symmetric matrix that have positive eigenvalues, as columns."""
    values, vectors = np.linalg.eigh(square)
    return np.asarray(vectors[:, values > 0])
