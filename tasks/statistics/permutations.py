"""Estimate the null level of alignments: the values that they reach with permuted labels.

The labels are permuted within each fold, so every training set and every test fold keeps its labels. The kernels, and
the weights of a learned kernel, stay as they are. If the labels of a test fold are independent of the kernel, all
permutations of them are equally likely, and the alignment exceeds the quantile with a probability of at most 5 %.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.statistics.sums import Sums

LEVEL = 0.95
"""Probability level of the quantile."""
MIN_PERMUTATIONS = 19
"""Smallest number of permutations for which the quantile is defined."""
# Distinguishes the random numbers of permutations from those of folds, which have the same seed.
_STREAM = 1


class NullLevel(NamedTuple):
    """Mean and quantile of the alignments with permuted labels; NaN if they are not known or not defined."""

    mean: float
    quantile: float


UNKNOWN = NullLevel(float("nan"), float("nan"))


@dataclass(frozen=True)
class Permutations:
    """Random permutations of the labels within folds."""

    count: int
    seed: int

    def orders(self, fold: Integers, repeat: int = 0) -> Integers:
        """Return permutations of the samples that exchange only samples of the same fold, (count, m).

        Parameters
        ----------
        fold
            Fold of each sample in a repeat.
        repeat
            Number of the repeat; each repeat has its own permutations.
        """
        random = np.random.default_rng([self.seed, repeat, _STREAM])
        by_fold = np.argsort(fold, kind="stable")
        found = np.empty((self.count, len(fold)), dtype=np.int64)
        for order in found:
            order[by_fold] = np.lexsort((random.random(len(fold)), fold))
        return found


def null_level(alignments: Floats) -> NullLevel:
    """Return the mean and the quantile of alignments with permuted labels.

    The quantile is the value of rank `ceil(0.95 (N + 1))` among the N values in ascending order. One is added to N
    because the alignment with the original labels counts as one more value.

    >>> null_level(np.arange(1.0, 20.0))
    NullLevel(mean=10.0, quantile=19.0)
    """
    rank = math.ceil(LEVEL * (len(alignments) + 1) * (1.0 - 1e-12))
    if rank > len(alignments) or np.isnan(alignments).any():
        return UNKNOWN
    return NullLevel(float(alignments.mean()), float(np.sort(alignments)[rank - 1]))


def permuted_products(
    sums: Sums,
    permuted: Floats,
    labels: Floats,
    orders: Integers,
    columns: Sequence[int],
    folds: Iterable[int],
    bounds: Integers,
) -> Floats:
    """Compute `<K_k, Y Y'>` of the centered kernels for permuted labels Y, on the samples in `folds`, (N, p).

    Parameters
    ----------
    sums
        Sums of the kernels, over samples whose folds are contiguous.
    permuted
        `y' E_k y` over each pair of folds for each permutation, (N, F, F, p); the sum over the columns of the block.
    labels, columns
        The labels with which the sums were computed, (m, number of columns), and the columns of the block.
    orders
        Permutations within folds, (N, m).
    bounds
        Start of each fold, followed by m.
    """
    chosen = np.array(sorted(folds))
    inside = np.concatenate([np.arange(bounds[fold], bounds[fold + 1]) for fold in chosen])
    rows = sums.rows[chosen].sum(axis=0)[:, inside]
    found = permuted[:, chosen][:, :, chosen].sum(axis=(1, 2))
    for column in columns:
        mean = float(labels[inside, column].mean())
        found += mean**2 * rows.sum(axis=1) - 2.0 * mean * (labels[orders[:, inside], column] @ rows.T)
    return np.asarray(found)


def label_products(kernel: Floats, permuted: Floats) -> Floats:
    """Return `<K, Y Y'>` of a centered kernel for each block of permuted labels, (N,).

    Parameters
    ----------
    kernel
        (n, n)
    permuted
        (N, n, columns), of any mean.
    """
    total = np.zeros(len(permuted))
    for column in np.moveaxis(permuted - permuted.mean(axis=1, keepdims=True), 2, 0):
        total += np.einsum("ni,ni->n", column @ kernel, column)
    return total
