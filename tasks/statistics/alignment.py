"""Alignment of kernel matrices, as the paper defines it, and the predictor that it promises to be good."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

# A kernel whose centered norm is this small beside its own norm does not vary: what is left is rounding.
CONSTANT = 1e-13


def centered(kernel: Floats) -> Floats:
    """The kernel matrix of centered features (the paper, equation 1), up to rounding symmetric if the kernel is."""
    means = kernel.mean(axis=0)
    return np.asarray(kernel - means[None, :] - kernel.mean(axis=1)[:, None] + means.mean())


def centered_alignment(kernel: Floats, other: Floats) -> float:
    """`<K_c, K'_c> / (||K_c|| ||K'_c||)` (Definition 4); 0 if one of them is constant."""
    return uncentered_alignment(centered(kernel), centered(other))


def uncentered_alignment(kernel: Floats, other: Floats) -> float:
    """`<K, K'> / (||K|| ||K'||)` (Cristianini et al. 2001); 0 if one of them is 0."""
    norms = float(np.linalg.norm(kernel) * np.linalg.norm(other))
    return float(np.vdot(kernel, other)) / norms if norms > 0 else 0.0


def unnormalised_alignment(kernel: Floats, other: Floats) -> float:
    """`<K_c, K'_c> / m^2` (Definition 5)."""
    return float(np.vdot(centered(kernel), centered(other))) / kernel.size


def alignment_with_labels(kernel: Floats, labels: Floats) -> float:
    """Compute `centered_alignment(kernel, y y')` without forming `y y'`.

    NaN where it is not defined, since the kernel or the labels do not vary.
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
    """`h_S` of the existence theorems (the paper, section 4.2), for labels scaled to mean 0 and variance 1.

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
