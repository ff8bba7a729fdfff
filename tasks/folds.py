"""Assign samples to folds, and folds to the training, validation and test sets of trials."""

from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class Trial:
    """The folds of one trial: the test fold, the validation fold, and the other folds for training."""

    test: int
    validation: int
    train: tuple[int, ...]


@dataclass(frozen=True)
class Split:
    """The labels of one target, and the samples of one trial."""

    target: Floats
    """Block of labels, divided by `unit`, (m, number of columns)."""
    train: Integers
    validation: Integers
    test: Integers
    unit: float = 1.0
    """Factor that converts errors to the original scale of the labels."""
    orders: Integers | None = None
    """Permutations of the samples within folds, (N, m), for the null level of alignments; None if it is not needed."""

    def permuted(self, samples: Integers) -> Floats | None:
        """Return the labels of some samples in each permutation, (N, number of samples, number of columns)."""
        return None if self.orders is None else self.target[self.orders[:, samples]]

    @property
    def labels(self) -> Floats:
        """Labels of a single output or of two classes, (m,)."""
        (column,) = self.target.T
        return np.ascontiguousarray(column)

    def joined(self) -> "Split":
        """Return the split in which the validation samples are training samples as well, for a final fit."""
        return replace(self, train=np.union1d(self.train, self.validation))

    @property
    def held_out(self) -> Integers:
        """The validation samples, followed by the test samples."""
        return np.concatenate([self.validation, self.test])


def stratified_folds(target: Floats, folds: int) -> tuple[Integers, Integers]:
    """Assign samples to folds in turn, and order them so that every fold is contiguous.

    Samples are assigned class by class, so that the folds are stratified.

    Parameters
    ----------
    target
        Labels of the samples, which must be in random order: (m,), where exactly two distinct values are treated as
        classes, or (m, C) with one column of zeros and ones per class.
    folds
        Number of folds.

    Returns
    -------
    order, fold
        `order[i]` is the sample at position i of the new order, and `fold[i]` is its fold.

    >>> stratified_folds(np.array([5.0, 6.0, 7.0, 8.0]), 3)
    (array([0, 3, 1, 2]), array([0, 0, 1, 2]))
    """
    count = len(target)
    classes = target if target.ndim == 1 else target.argmax(axis=1)
    has_classes = target.ndim > 1 or len(np.unique(target)) == 2
    by_class = np.argsort(classes, kind="stable") if has_classes else np.arange(count)
    fold = np.arange(count) % folds
    by_fold = np.argsort(fold, kind="stable")
    return by_class[by_fold].astype(np.int64), fold[by_fold].astype(np.int64)


def group_folds(groups: Integers, classes: Integers, folds: int, random: np.random.Generator | None = None) -> Integers:
    """Assign groups of samples to folds, so that folds have similar sizes and similar shares of each class.

    Groups are assigned in order of decreasing size. Each is assigned to the fold for which the sum of squares of the
    folds' shares of all samples and of each class increases least. Without classes, this is the fold that has the
    fewest samples so far.

    Parameters
    ----------
    groups
        Index of the group of each sample, starting at 0; there are at least as many groups as folds.
    classes
        Index of the class of each sample, starting at 0; all 0 if there are no classes.
    folds
        Number of folds.
    random
        If given, sizes are multiplied by random numbers between 1 and 2, so that groups of different sizes are assigned
        in another order, and the folds differ.

    Returns
    -------
    fold
        Fold of each sample; no fold is empty.

    >>> group_folds(np.array([0, 0, 0, 1, 1, 2, 3]), np.zeros(7, dtype=np.int64), 3)
    array([0, 0, 0, 1, 1, 2, 2])
    """
    counts = np.zeros((int(groups.max()) + 1, int(classes.max()) + 1))
    np.add.at(counts, (groups, classes), 1.0)
    sizes = counts.sum(axis=1)
    shares = np.column_stack([counts / np.maximum(counts.sum(axis=0), 1.0), sizes / len(groups)])
    assigned, loads = np.zeros(len(counts), dtype=np.int64), np.zeros((folds, shares.shape[1]))
    ranked = sizes if random is None else sizes * random.uniform(1.0, 2.0, len(sizes))
    for group in np.argsort(-ranked, kind="stable"):
        fold = int(np.argmin(loads @ shares[group]))
        assigned[group] = fold
        loads[fold] += shares[group]
    return assigned[groups]


def trials(folds: int, fixed_test: bool = False) -> list[Trial]:
    """Return the trials of a cross-validation, one per fold.

    Trial t uses fold t for testing, the next fold for validation and the other folds for training.

    Parameters
    ----------
    folds
        Number of folds, not counting a fixed test set.
    fixed_test
        Whether there is a fixed test set, which is an additional, last fold. All trials use it for testing; trial t
        then uses fold t for validation and the other folds for training.

    >>> trials(3)[2]
    Trial(test=2, validation=0, train=(1,))
    >>> trials(3, fixed_test=True)[2]
    Trial(test=3, validation=2, train=(0, 1))
    """
    if fixed_test:
        return [Trial(folds, t, tuple(f for f in range(folds) if f != t)) for t in range(folds)]
    return [
        Trial(t, (t + 1) % folds, tuple(f for f in range(folds) if f not in (t, (t + 1) % folds))) for t in range(folds)
    ]


def trial_name(number: int, per_repeat: int | None = None) -> str:
    """Return the name of a trial in messages, given its number among the trials of all repeats.

    Parameters
    ----------
    per_repeat
        Number of trials per repeat; None if there is one repeat.

    >>> trial_name(7), trial_name(7, per_repeat=5)
    ('trial 7', 'repeat 1, trial 2')
    """
    if per_repeat is None:
        return f"trial {number}"
    repeat, trial = divmod(number, per_repeat)
    return f"repeat {repeat}, trial {trial}"


def fold_bounds(fold: Integers) -> Integers:
    """Return the start of each fold, followed by the number of samples; `fold` must be in ascending order.

    >>> fold_bounds(np.array([0, 0, 1, 2, 2]))
    array([0, 2, 3, 5])
    """
    return np.searchsorted(fold, np.arange(int(fold[-1]) + 2)).astype(np.int64)
