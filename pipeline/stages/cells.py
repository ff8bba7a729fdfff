"""What the tasks of single cells share: their samples, their weights and what is measured of a learned kernel."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pipeline.inputs import Input, whole
from pipeline.store import DATA, GRAM, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.arrays import Floats, Integers
from tasks.centering import center_on, positive_part
from tasks.errors import NoResultError
from tasks.folds import trials
from tasks.guarantees import generalisation_bound, guarantees
from tasks.paths import PathResult, fit_path

# What makes a cell a row without numbers; the rest of the sweep goes on.
NO_RESULT = (NoResultError, np.linalg.LinAlgError)


@dataclass(frozen=True)
class Split:
    """The samples of one trial."""

    target: Floats
    train: Integers
    validation: Integers
    test: Integers

    @property
    def held_out(self) -> Integers:
        """The validation samples, and behind them the test samples."""
        return np.concatenate([self.validation, self.test])


@dataclass(frozen=True, kw_only=True)
class CellTask(Task):
    """A task of one dataset, task, method and trial."""

    task: str
    task_index: int
    method: str
    trial: int

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.trial}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.task, self.method

    def split_inputs(self) -> tuple[Input, ...]:
        """What `split` reads, as inputs."""
        return whole(GRAM, f"{self.dataset}/fold"), whole(DATA, f"{self.dataset}/targets")

    def split(self, store: RunStore) -> Split:
        """The labels of all samples, and which of them train, validate and test."""
        fold = store.read(GRAM, f"{self.dataset}/fold")
        trial = trials(int(fold[-1]) + 1)[self.trial]
        return Split(
            target=store.read(DATA, f"{self.dataset}/targets")[:, self.task_index],
            train=np.flatnonzero(np.isin(fold, trial.train)),
            validation=np.flatnonzero(fold == trial.validation),
            test=np.flatnonzero(fold == trial.test),
        )

    def write_weights(self, store: RunStore, weights: Floats, certificate: float) -> dict[str, str]:
        """Store the weights of the cell and their certificate; gives the checksums."""
        group, trial = f"{self.dataset}/{self.task}", [self.trial]
        return store.write_trials(WEIGHTS, f"{group}/{self.method}", trial, [weights]) | store.write_trials(
            WEIGHTS, f"{group}/certificate/{self.method}", trial, [certificate]
        )


def measured(weights: Floats, certificate: float, alignment_train: float, alignment_test: float) -> dict[str, Any]:
    """What a row says of weights."""
    return {
        "certificate": certificate,
        "alignment_train": alignment_train,
        "alignment_test": alignment_test,
        "n_kernels": len(weights),
        "n_active": int(np.count_nonzero(weights)),
    }


def fit_kernel(
    task: str, kernel: Floats, split: Split, values: tuple[float, ...], signed: bool, largest: float
) -> dict[str, Any]:
    """Fit the path of a combined kernel over all samples, (m, m), and evaluate what theorems say of it.

    Parameters
    ----------
    signed
        Whether weights may be negative, and the kernel with them indefinite.
    largest
        A bound on `K_k(x, x)` of the base kernels, scaled to trace one.
    """
    centered = center_on(kernel, split.train)
    if signed:
        centered = positive_part(centered, split.train)
    path = fit_path(task, centered, split.target, split.train, split.validation, split.test, values)
    if signed or np.ptp(split.target[split.train]) == 0:  # the theorems are about neither
        return {"path": asdict(path)}
    found = asdict(guarantees(task, centered, split.target, split.train, split.test))
    if task == "regression":
        found["generalisation_bound"] = _error_bound(path, split, largest)
    return {"path": asdict(path), "guarantees": {key: value for key, value in found.items() if np.isfinite(value)}}


def _error_bound(path: PathResult, split: Split, largest: float) -> float:
    labels = split.target[split.train]
    (ridge,) = path.values[path.best]
    return generalisation_bound(
        empirical=float(path.train_errors[path.best] or 0.0),
        samples=len(labels),
        ridge=ridge,
        largest_label=float(np.abs(labels - labels.mean()).max()),
        largest_kernel=largest,
    )


def failed(error: Exception) -> Output:
    """The output of a cell that has no result, and says why."""
    return Output(result={"status": f"failed: {error}"})
