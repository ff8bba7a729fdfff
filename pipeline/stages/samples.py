"""Define the samples of a cell: its label columns, and its training, validation and test samples."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np

from kernel_pipeline.stages.labels import label_input, read_labels
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.folds import Split, trials
from kernel_pipeline.tasks.statistics.permutations import Permutations


@dataclass(frozen=True)
class Target:
    """The block of label columns of one problem of a dataset.

    A single output, or two classes, have one column; several outputs, or more classes, have one column each.
    """

    problem: str
    """"regression" or "classification"."""
    columns: tuple[int, ...]
    """Column indices in the dataset's array of labels."""


def make_targets(problems: Sequence[str], widths: Sequence[int] = ()) -> tuple[Target, ...]:
    """Return the targets of a dataset, whose label columns follow each other in the order of the problems.

    Parameters
    ----------
    widths
        Number of label columns of each problem; empty if each has one.

    Examples
    --------
    >>> make_targets(["regression", "classification"], [1, 3])[1]
    Target(problem='classification', columns=(1, 2, 3))
    """
    blocks = pairwise(accumulate(widths or [1] * len(problems), initial=0))
    return tuple(Target(problem, tuple(range(*block))) for problem, block in zip(problems, blocks, strict=True))


def folds_input(dataset: str, repeats: int = 1) -> Input:
    """Return the array that `read_folds` reads, as an input of a task."""
    return whole(GRAM, f"{dataset}/fold" if repeats == 1 else f"{dataset}/folds")


def read_folds(store: RunStore, dataset: str, repeats: int = 1) -> Integers:
    """Read the fold of each sample in each repeat, (repeats, m); those of the first repeat are contiguous."""
    (needed,) = folds_input(dataset, repeats).parts
    found: Integers = store.read(GRAM, needed.removeprefix(f"{GRAM}/"))
    return found.reshape(repeats, -1)


def split_inputs(dataset: str, repeats: int = 1) -> tuple[Input, ...]:
    """Return the arrays that `read_split` reads, as inputs of a task."""
    return folds_input(dataset, repeats), label_input(dataset)


def read_split(
    store: RunStore,
    dataset: str,
    target: Target,
    trial: int,
    fixed_test: bool = False,
    repeats: int = 1,
    permutations: Permutations | None = None,
) -> Split:
    """Read the labels of a target and the samples of a trial; the last fold may be a fixed test set.

    Parameters
    ----------
    trial
        Number of the trial among those of all repeats.
    """
    assigned = read_folds(store, dataset, repeats)
    repeat_trials = trials(int(assigned.max()) + 1 - fixed_test, fixed_test)
    repeat, number = divmod(trial, len(repeat_trials))
    fold, folds = assigned[repeat], repeat_trials[number]
    labels, units = read_labels(store, dataset)
    columns = list(target.columns)
    return Split(
        target=labels[:, columns],
        unit=float(units[columns].max()),
        train=np.flatnonzero(np.isin(fold, folds.train)),
        validation=np.flatnonzero(fold == folds.validation),
        test=np.flatnonzero(fold == folds.test),
        orders=permutations.orders(fold, repeat) if permutations else None,
    )
