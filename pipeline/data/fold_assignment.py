"""Assign samples to folds: stratified, by groups that stay together, or as given by a column."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from kernel_pipeline.config.sweep import MAX_FOLDS, MIN_FOLDS
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.targets import is_numbers
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import Trial, group_folds, stratified_folds, trials
from kernel_pipeline.text import counted

MAX_LISTED = 10
"""Maximum number of labels in an error message."""


def assign_folds(
    table: RawTable,
    chosen: Integers,
    targets: Mapping[str, Floats],
    folds: int,
    name: str,
    random: np.random.Generator | None = None,
) -> tuple[Integers, Integers]:
    """Assign the chosen samples of a table to folds, and reorder them so that every fold is contiguous.

    Parameters
    ----------
    table
        The table, which may have groups, given folds or a fixed test set.
    chosen
        Rows of the table to learn from, in random order, followed by those of a fixed test set.
    targets
        Target of the chosen rows for each problem. Classes are distributed evenly over folds.
    folds
        Number of folds. A fixed test set is an additional fold, the last.
    name
        Name of the dataset, for error messages.
    random
        If given, the order in which groups are assigned is varied at random; otherwise, it is that of decreasing size.

    Returns
    -------
    permutation, fold
        `permutation[i]` is the index in `chosen` of the sample at position i of the new order; `fold[i]` is its fold.

    Raises
    ------
    DataError
        If the groups or the given folds do not match the number of folds, or if a training set lacks a class.
    """
    problem = "classification" if "classification" in targets else next(iter(targets))
    # The rows outside of a fixed test set are assigned to folds.
    outside = chosen if table.test is None else chosen[~table.test[chosen]]
    target = targets[problem][: len(outside)]
    if table.given_folds is not None:
        permutation, fold = _contiguous(_given_folds(table.given_folds.iloc[outside], folds, name))
    elif table.groups is not None:
        _check_groups(table.groups.iloc[outside], table.groups.iloc[chosen[len(outside) :]], name)
        permutation, fold = _contiguous(
            _grouped(table.groups.iloc[outside], _classes(target, problem), folds, name, random)
        )
    else:
        permutation, fold = stratified_folds(_stratified_by(target, problem), folds)
        if table.test is None:
            return permutation, fold
    permutation = np.concatenate([permutation, np.arange(len(outside), len(chosen))])
    fold = np.concatenate([fold, np.full(len(chosen) - len(outside), folds)])
    repeat_trials = trials(folds, fixed_test=table.test is not None)
    for each_problem, values in targets.items():
        _check_training_sets(_classes(values, each_problem)[permutation], fold, repeat_trials, table, name)
    return permutation, fold


def repeated_folds(
    table: RawTable, chosen: Integers, targets: Mapping[str, Floats], folds: int, name: str, seed: int, repeats: int
) -> tuple[Integers, Integers]:
    """Assign the chosen samples to folds several times; the first assignment is that of `assign_folds`.

    The samples are put in another random order for each further repeat, which depends on the seed and on the number of
    the repeat. A fixed test set stays the last fold.

    Parameters
    ----------
    table, chosen, targets, folds, name
        As for `assign_folds`.

    Returns
    -------
    permutation, fold_by_repeat
        `permutation[i]` is the index in `chosen` of the sample at position i of the order in which the folds of the
        first repeat are contiguous; `fold_by_repeat[r, i]` is its fold in repeat r, (R, m).
    """
    permutation, fold = assign_folds(table, chosen, targets, folds, name)
    varied = len(chosen) if table.test is None else int((~table.test[chosen]).sum())
    found = [fold]
    for repeat in range(1, repeats):
        random = np.random.default_rng([seed, repeat])
        order = np.append(random.permutation(varied), np.arange(varied, len(chosen)))
        shuffled = {problem: target[order] for problem, target in targets.items()}
        try:
            new_permutation, new_fold = assign_folds(table, chosen[order], shuffled, folds, name, random)
        except DataError as error:
            raise DataError(f"[protocol] repeats = {repeats}: repeat {repeat}: {error}") from None
        assigned = np.empty_like(new_fold)
        assigned[order[new_permutation]] = new_fold
        found.append(assigned[permutation])
    return permutation, np.stack(found)


def repeat_notes(fold_by_repeat: Integers) -> tuple[str, ...]:
    """Return a note if several repeats have the same folds, which happens if there are few groups.

    >>> repeat_notes(np.array([[0, 1, 2], [0, 1, 2]]))
    ('the 2 repeats have only 1 distinct assignment of samples to folds, since there are few groups',)
    """
    repeats, distinct = len(fold_by_repeat), len(np.unique(fold_by_repeat, axis=0))
    if distinct == repeats:
        return ()
    found = counted(distinct, "distinct assignment")
    return (f"the {repeats} repeats have only {found} of samples to folds, since there are few groups",)


def largest_train(fold: Integers, repeat_trials: list[Trial]) -> int:
    """Return the size of the largest training set.

    >>> largest_train(np.array([0, 0, 0, 1, 2]), trials(3))
    3
    """
    return max(int(np.isin(fold, trial.train).sum()) for trial in repeat_trials)


def _contiguous(assigned: Integers) -> tuple[Integers, Integers]:
    """Return the order in which every fold is contiguous, and the folds in this order."""
    permutation = np.argsort(assigned, kind="stable").astype(np.int64)
    return permutation, assigned[permutation]


def _check_groups(outside: pd.Series, test: pd.Series, name: str) -> None:
    """Raise a `DataError` if a group is both in the fixed test set and outside of it."""
    both = sorted(set(outside.map(str)) & set(test.map(str)))
    if both:
        raise DataError(
            f"dataset {name!r}: groups = {outside.name!r}: {counted(len(both), 'group is', 'groups are')} "
            f"both in the test set and outside of it, such as {both[0]!r}; put all samples of a group on one side, "
            "or remove the key groups"
        )


def _stratified_by(target: Floats, problem: str) -> Floats:
    """Return the labels by which folds are stratified; for several outputs, the order of the samples."""
    return np.arange(len(target), dtype=np.float64) if target.ndim == 2 and problem == "regression" else target


def _classes(target: Floats, problem: str) -> Integers:
    """Return the class of each sample, as a number; a regression has classes if its target has two values only."""
    if target.ndim == 2:
        return target.argmax(axis=1) if problem == "classification" else np.zeros(len(target), np.int64)
    values, classes = np.unique(target, return_inverse=True)
    return classes.astype(np.int64) if problem == "classification" or len(values) == 2 else np.zeros_like(classes)


def _given_folds(labels: pd.Series, folds: int, name: str) -> Integers:
    """Return the index of the given fold of each sample; folds are numbered in the order of their labels."""
    values = pd.to_numeric(labels.astype(object)) if is_numbers(labels) else labels.map(str)
    known, codes = np.unique(values.to_numpy(), return_inverse=True)
    if len(known) != folds:
        listed = ", ".join(map(str, known[:MAX_LISTED])) + (", ..." if len(known) > MAX_LISTED else "")
        raise DataError(
            f"dataset {name!r}: folds = {labels.name!r} has {counted(len(known), 'distinct value')} ({listed}), but "
            f"there are {folds} folds; {_set_folds(len(known))}choose another column with {folds} values"
        )
    return codes.astype(np.int64)


def _grouped(
    groups: pd.Series, classes: Integers, folds: int, name: str, random: np.random.Generator | None
) -> Integers:
    codes, known = pd.factorize(groups.map(str))
    if len(known) < folds:
        raise DataError(
            f"dataset {name!r}: groups = {groups.name!r} has {counted(len(known), 'distinct value')}, but there are "
            f"{folds} folds, and a group stays in one fold; {_set_folds(len(known))}choose another column with at "
            f"least {folds} values"
        )
    return group_folds(codes.astype(np.int64), classes, folds, random)


def _set_folds(count: int) -> str:
    """Return the advice to set the number of folds to `count`; empty if that number is not allowed.

    >>> _set_folds(5), _set_folds(2)
    ('set [protocol] folds = 5, or ', '')
    """
    return f"set [protocol] folds = {count}, or " if MIN_FOLDS <= count <= MAX_FOLDS else ""


def _check_training_sets(
    classes: Integers, fold: Integers, repeat_trials: list[Trial], table: RawTable, name: str
) -> None:
    """Raise a `DataError` if a training set lacks a class."""
    count = int(classes.max()) + 1
    if table.test is not None:
        outside = len(np.unique(classes[fold != fold[-1]]))
        if outside < count:
            raise DataError(
                f"dataset {name!r}: the samples outside of the test set (key test or test_path) belong to only "
                f"{outside} of {count} classes, so that no training set has all of them. Choose another test set, or "
                "remove this key"
            )
    for number, trial in enumerate(repeat_trials):
        present = len(np.unique(classes[np.isin(fold, trial.train)]))
        if present < count:
            raise DataError(
                f"dataset {name!r}: the training set of trial {number} (folds {', '.join(map(str, trial.train))}) has "
                f"samples of only {present} of {count} classes. {_change_folds(table)}"
            )


def _change_folds(table: RawTable) -> str:
    """Return what to do about a training set that lacks a class."""
    if table.groups is None and table.given_folds is None:  # the folds are stratified, but there is a test set
        return (
            "Choose another test set (key test or test_path), so that at least 3 samples of every class are outside of "
            "it, or remove this key"
        )
    key = "groups" if table.given_folds is None else "folds"
    others = "" if table.test is None else ", another test set (key test or test_path)"
    return (
        f"Choose another column for the key {key}{others}, or another number of folds ([protocol] folds), so that "
        "every class is in more folds"
    )
