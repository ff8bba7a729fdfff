"""The samples of a cell: which label columns it learns, and which samples train, validate and test."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.stages.labels import label_input, read_labels
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trials


@dataclass(frozen=True)
class Target:
    """The label columns of one problem of a dataset.

    Today each problem has one column. Several classes or outputs have a block of columns.
    """

    problem: str
    """"regression" or "classification"."""
    columns: tuple[int, ...]
    """Places in the dataset's array of labels."""

    @property
    def column(self) -> int:
        """The only column."""
        (column,) = self.columns
        return column


def make_targets(problems: Sequence[str]) -> tuple[Target, ...]:
    """Return the targets of a dataset that has one label column per problem.

    >>> make_targets(["regression", "classification"])[1]
    Target(problem='classification', columns=(1,))
    """
    return tuple(Target(problem, (column,)) for column, problem in enumerate(problems))


@dataclass(frozen=True)
class Split:
    """The labels of one target, and the samples of one trial."""

    target: Floats
    """(m,): labels in their unit."""
    train: Integers
    validation: Integers
    test: Integers
    unit: float = 1.0
    """Errors of the labels have to be multiplied by it."""

    @property
    def held_out(self) -> Integers:
        """The validation samples, followed by the test samples."""
        return np.concatenate([self.validation, self.test])


def split_inputs(dataset: str) -> tuple[Input, ...]:
    """Return what `read_split` reads, as inputs of a task."""
    return whole(GRAM, f"{dataset}/fold"), label_input(dataset)


def read_split(store: RunStore, dataset: str, target: Target, trial: int) -> Split:
    """Read the labels of a target and the samples of a trial."""
    fold = store.read(GRAM, f"{dataset}/fold")
    folds = trials(int(fold[-1]) + 1)[trial]
    labels, units = read_labels(store, dataset)
    return Split(
        target=labels[:, target.column],
        unit=float(units[target.column]),
        train=np.flatnonzero(np.isin(fold, folds.train)),
        validation=np.flatnonzero(fold == folds.validation),
        test=np.flatnonzero(fold == folds.test),
    )
