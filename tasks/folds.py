"""Folds and trials: which samples train, validate and test."""

from dataclasses import dataclass

import numpy as np

from tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class Trial:
    """One rotation of the folds: fold `test` tests, the next one validates, the rest train."""

    test: int
    validation: int
    train: tuple[int, ...]


def assign_folds(target: Floats, folds: int, rng: np.random.Generator) -> tuple[Integers, Integers]:
    """Deal the samples into folds at random and reorder them so that every fold is contiguous.

    A target of two values is dealt class by class, so that each fold has its share of both.

    Returns
    -------
    order, fold
        `order[i]` is the sample at place i, `fold[i]` the fold of place i.
    """
    shuffled = rng.permutation(len(target))
    if len(np.unique(target)) == 2:
        shuffled = shuffled[np.argsort(target[shuffled], kind="stable")]
    dealt = np.arange(len(target)) % folds
    by_fold = np.argsort(dealt, kind="stable")
    return shuffled[by_fold].astype(np.int64), dealt[by_fold].astype(np.int64)


def trials(folds: int) -> list[Trial]:
    """The trials of a cross-validation, one a test fold.

    >>> trials(3)[2]
    Trial(test=2, validation=0, train=(1,))
    """
    return [
        Trial(t, (t + 1) % folds, tuple(f for f in range(folds) if f not in (t, (t + 1) % folds)))
        for t in range(folds)
    ]


def fold_bounds(fold: Integers) -> Integers:
    """Where each fold begins, and behind them the number of samples.

    >>> fold_bounds(np.array([0, 0, 1, 2, 2]))
    array([0, 2, 3, 5])
    """
    return np.searchsorted(fold, np.arange(int(fold[-1]) + 2)).astype(np.int64)
