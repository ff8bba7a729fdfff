"""Folds and trials: which samples train, validate and test."""

from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class Trial:
    """One rotation of the folds: fold `test` tests, the next one validates, the rest train."""

    test: int
    validation: int
    train: tuple[int, ...]


def deal_folds(target: Floats, folds: int) -> tuple[Integers, Integers]:
    """Deal samples into folds, one after the other, and reorder them so that every fold is contiguous.

    A target of two values is dealt class by class, so that each fold has its share of both.

    Parameters
    ----------
    target
        The labels of samples that come in random order.

    Returns
    -------
    place, fold
        `place[i]` is the sample that goes to place i, `fold[i]` the fold of place i.

    >>> deal_folds(np.array([5.0, 6.0, 7.0, 8.0]), 3)
    (array([0, 3, 1, 2]), array([0, 0, 1, 2]))
    """
    count = len(target)
    by_class = np.argsort(target, kind="stable") if len(np.unique(target)) == 2 else np.arange(count)
    dealt = np.arange(count) % folds
    by_fold = np.argsort(dealt, kind="stable")
    return by_class[by_fold].astype(np.int64), dealt[by_fold].astype(np.int64)


def trials(folds: int) -> list[Trial]:
    """Return the trials of a cross-validation, one per test fold.

    >>> trials(3)[2]
    Trial(test=2, validation=0, train=(1,))
    """
    return [
        Trial(t, (t + 1) % folds, tuple(f for f in range(folds) if f not in (t, (t + 1) % folds))) for t in range(folds)
    ]


def fold_bounds(fold: Integers) -> Integers:
    """Return the start of each fold, followed by the number of samples.

    >>> fold_bounds(np.array([0, 0, 1, 2, 2]))
    array([0, 2, 3, 5])
    """
    return np.searchsorted(fold, np.arange(int(fold[-1]) + 2)).astype(np.int64)
