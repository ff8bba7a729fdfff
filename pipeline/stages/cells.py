"""What the tasks of single cells share: their samples, their weights and what is measured of a learned kernel."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernel_pipeline.stages.samples import Split, Target, read_split, split_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_on, positive_part
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.learners.paths import PathResult, fit_path
from kernel_pipeline.tasks.statistics.alignment import positive_part_alignment
from kernel_pipeline.tasks.statistics.guarantees import evaluate_theorems, theorem17
from kernel_pipeline.tasks.weights.method import Method

# What makes a cell a row without numbers; the rest of the sweep goes on.
NO_RESULT = (NoResultError, np.linalg.LinAlgError)
# Evaluations that are errors of a regression, and so have the unit of the labels.
ERRORS = ("predictor_error", "theorem14", "theorem17")


@dataclass(frozen=True, kw_only=True)
class CellTask(Task):
    """A task of one dataset, problem, method and trial."""

    target: Target
    method: Method
    trial: int

    @property
    def problem(self) -> str:
        """The problem that is learned, "regression" or "classification"."""
        return self.target.problem

    @property
    def method_id(self) -> str:
        """Name of the method in tables and arrays."""
        return self.method.method_id

    @property
    def part(self) -> str:
        return f"{self.problem}/{self.method_id}/{self.trial}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.problem, self.method_id

    def split_inputs(self) -> tuple[Input, ...]:
        """Return what `split` reads, as inputs."""
        return split_inputs(self.dataset)

    def split(self, store: RunStore) -> Split:
        """Read the labels of all samples, and which of them train, validate and test."""
        return read_split(store, self.dataset, self.target, self.trial)

    def write_weights(self, store: RunStore, weights: Floats, certificate: float) -> dict[str, str]:
        """Store the weights of the cell and their certificate; return the checksums."""
        group, trial = f"{self.dataset}/{self.problem}", [self.trial]
        return store.write_trials(WEIGHTS, f"{group}/{self.method_id}", trial, [weights]) | store.write_trials(
            WEIGHTS, f"{group}/certificate/{self.method_id}", trial, [certificate]
        )


def weights_written(group: str, method: str, trials: Iterable[int]) -> tuple[Input, ...]:
    """Return the parts of arrays that the weights of some trials of a method are written to."""
    chosen = tuple(trials)
    return tuple(trials_of(WEIGHTS, name, chosen) for name in (f"{group}/{method}", f"{group}/certificate/{method}"))


def measured(weights: Floats, certificate: float) -> dict[str, Any]:
    """Return what a row reports about weights."""
    return {
        "certificate": certificate,
        "n_kernels": len(weights),
        "n_active": int(np.count_nonzero(weights)),
    }


def alignments(train: float, test: float) -> dict[str, float | None]:
    """Return the alignments of a row; NaN, which JSON does not have, becomes None."""
    named = {"alignment_train": train, "alignment_test": test}
    return {name: value if np.isfinite(value) else None for name, value in named.items()}


def path_result(path: PathResult, split: Split) -> dict[str, Any]:
    """Return a path as a row and `path.csv` report it, its errors in the unit of the data."""
    return {"path": asdict(path.in_units(split.unit)), "at_edge": path.at_edge}


def fit_kernel(
    task: str, kernel: Floats, split: Split, values: tuple[float, ...], signed: bool, largest: float
) -> dict[str, Any]:
    """Fit the path of a combined kernel over all samples, (m, m), and evaluate the theorems for it.

    Parameters
    ----------
    kernel
        It may be shifted by any constant, which centering takes away.
    signed
        Whether weights may be negative, and the kernel with them indefinite. Then its positive part is fitted, and the
        result has the alignments of the positive part: of the kernel centered on the training set, and of the kernel
        centered on the test fold.
    largest
        A bound on `K_k(x, x)` of the base kernels, scaled to trace one.
    """
    centered = center_on(kernel, split.train)
    found: dict[str, Any] = {}
    if signed:
        centered = positive_part(centered, split.train)
        found = alignments(*(_positive_alignment(kernel, split, samples) for samples in (split.train, split.test)))
    path = fit_path(task, centered, split.target, split.train, split.validation, split.test, values)
    found |= path_result(path, split)
    if signed or np.ptp(split.target[split.train]) == 0:  # the theorems are about neither
        return found
    theorems = asdict(evaluate_theorems(task, centered, split.target, split.train, split.test))
    if task == "regression":
        theorems["theorem17"] = _theorem17(path, split, largest)
    theorems |= {name: split.unit * theorems[name] for name in ERRORS if theorems.get(name) is not None}
    defined = {name: value for name, value in theorems.items() if value is not None and np.isfinite(value)}
    return found | {"theorems": defined}


def _positive_alignment(kernel: Floats, split: Split, samples: Integers) -> float:
    return positive_part_alignment(kernel[np.ix_(samples, samples)], split.target[samples])


def _theorem17(path: PathResult, split: Split, largest: float) -> float:
    labels = split.target[split.train]
    (ridge,) = path.values[path.best]
    return theorem17(
        empirical=float(path.train_errors[path.best] or 0.0),
        samples=len(labels),
        ridge=ridge,
        largest_label=float(np.abs(labels - labels.mean()).max()),
        largest_kernel=largest,
    )


def failed(error: Exception) -> Output:
    """The output of a cell that has no result, and says why."""
    return Output(result={"status": f"failed: {error}"})
