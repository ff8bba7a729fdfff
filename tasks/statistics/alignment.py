"""Compute the centered alignment of kernel matrices with labels, and the predictor of the existence theorems."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import center_labels, standardize_labels
from kernel_pipeline.tasks.statistics.debiased import UNDEFINED, Estimates, alignment_estimates
from kernel_pipeline.tasks.statistics.permutations import label_products

# A kernel is constant up to rounding if its centered norm is at most this fraction of its norm.
CONSTANT_NORM_TOLERANCE = 1e-13


def centered(kernel: Floats) -> Floats:
    """Return the kernel matrix of centered features (equation 1); a symmetric one stays symmetric up to rounding."""
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means[None, :] - kernel.mean(axis=1)[:, None] + means.mean())


def alignment_with_labels(kernel: Floats, labels: Floats, permuted: Floats | None = None) -> Estimates:
    """Compute the centered alignment of a kernel with `Y Y'` (Definition 4), and its debiased estimate.

    `Y Y'` is not formed. The alignment is NaN if it is not defined, because the kernel or the labels are constant.

    Parameters
    ----------
    labels
        Block of labels, (n, columns).
    permuted
        Permutations of the labels, (N, n, columns), from which the null level of the alignment is estimated.
    """
    deviations = center_labels(labels)
    if not deviations.any():
        return UNDEFINED
    matrix = centered(kernel)
    norm = float(np.linalg.norm(matrix))
    if not norm > CONSTANT_NORM_TOLERANCE * float(np.linalg.norm(kernel)):
        return UNDEFINED
    products = sum(float(column @ matrix @ column) for column in np.ascontiguousarray(deviations.T))
    level = None if permuted is None else label_products(matrix, permuted)
    return alignment_estimates(products, norm, np.diag(matrix), deviations, level)


def positive_part_alignment(kernel: Floats, labels: Floats, permuted: Floats | None = None) -> Estimates:
    """Center a kernel, and compute the alignment of its positive part with the labels.

    The parameters are those of `alignment_with_labels`.
    """
    values, vectors = np.linalg.eigh(centered(kernel))
    kept = values > 0
    return alignment_with_labels((vectors[:, kept] * values[kept]) @ vectors[:, kept].T, labels, permuted)


def alignment_predictor(norm: float, rows: Floats, labels: Floats) -> Floats:
    """Return predictions of `h_S` in the existence theorems (section 4.2), for labels scaled to mean 0 and variance 1.

    Parameters
    ----------
    norm
        Frobenius norm of the centered kernel of the training samples.
    rows
        (q, n): the centered kernel of some samples against the training samples.
    labels
        (n,)

    Returns
    -------
    (q,)
        Predictions relative to the mean of the labels, in units of their standard deviation. The mean of `y h_S` over
        the training samples is the centered alignment.
    """
    return np.asarray((rows @ standardize_labels(labels)) / norm)
