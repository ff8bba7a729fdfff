"""Centered alignment of kernel matrices with labels, and the predictor of the existence theorems."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

# A kernel does not vary if its centered norm, relative to its own norm, is at most this: the rest is rounding.
CONSTANT = 1e-13


def centered(kernel: Floats) -> Floats:
    """Return the kernel matrix of centered features (equation 1); up to rounding it is symmetric if the kernel is."""
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means[None, :] - kernel.mean(axis=1)[:, None] + means.mean())


def alignment_with_labels(kernel: Floats, labels: Floats) -> float:
    """Compute the centered alignment of a kernel with `y y'` (Definition 4) without forming `y y'`.

    It is NaN where it is not defined, because the kernel or the labels do not vary.
    """
    if np.ptp(labels) == 0.0:
        return float("nan")
    deviations = labels - labels.mean()
    matrix = centered(kernel)
    norm = float(np.linalg.norm(matrix))
    if not norm > CONSTANT * float(np.linalg.norm(kernel)):
        return float("nan")
    return float(deviations @ matrix @ deviations) / (norm * float(deviations @ deviations))


def positive_part_alignment(kernel: Floats, labels: Floats) -> float:
    """Compute the alignment of the positive part of a kernel, centered on its samples, with the labels."""
    values, vectors = np.linalg.eigh(centered(kernel))
    kept = values > 0
    return alignment_with_labels((vectors[:, kept] * values[kept]) @ vectors[:, kept].T, labels)


def alignment_predictor(train: Floats, others: Floats, labels: Floats) -> Floats:
    """Predict by `h_S` of the existence theorems (section 4.2), for labels scaled to mean 0 and variance 1.

    Parameters
    ----------
    train, others
        (n, n) and (q, n): the centered kernel of the training samples, and of other samples against them.
    labels
        (n,)

    Returns
    -------
    (q,)
        In units of the labels' standard deviation, from their mean. The mean of `y h_S` over the training samples is
        the centered alignment.
    """
    standard = (labels - labels.mean()) / labels.std()
    return np.asarray((others @ standard) / float(np.linalg.norm(train)))
