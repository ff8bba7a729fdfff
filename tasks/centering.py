"""Centering of kernels in feature space, with the means of the training samples (the paper, section 2.2)."""

from dataclasses import dataclass

import numpy as np

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


@dataclass(frozen=True)
class PositivePart:
    """The nearest positive semi-definite kernel: negative directions of the training part are cut off.

    Weights of any sign may give an indefinite kernel, which an SVM would accept silently.
    """

    kernel: Floats
    """(m, n): of all samples against the training samples, centered on these."""
    features: Floats
    """(m, r): coordinates in the feature space that the training samples span, whose products are the kernel."""


def positive_part(centered: Floats, train: Integers) -> PositivePart:
    """Cut off the negative directions of a kernel from `center_on`."""
    values, vectors = np.linalg.eigh(centered[train])
    kept = values > 0
    projected = centered @ vectors[:, kept]
    # A direction whose eigenvalue is rounding has no coordinates.
    seen = values[kept] > np.finfo(float).eps * len(train) * values[-1]
    return PositivePart(
        kernel=np.asarray(projected @ vectors[:, kept].T),
        features=np.asarray(projected[:, seen] / np.sqrt(values[kept][seen])),
    )
