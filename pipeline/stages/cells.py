"""What the tasks of single cells share: their samples, their weights and the fit of a learned kernel."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments, CellResult, Theorems
from kernel_pipeline.stages.samples import Split, Target, read_split, split_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_on, positive_part
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.learners.paths import PathResult, fit_path
from kernel_pipeline.tasks.statistics.alignment import positive_part_alignment
from kernel_pipeline.tasks.statistics.guarantees import evaluate_theorems, theorem17
from kernel_pipeline.tasks.weights.method import Method

# Errors that leave a cell without a result, while the rest of the sweep continues.
NO_RESULT = (NoResultError, np.linalg.LinAlgError)
# Evaluations that are errors of a regression and therefore have the unit of the labels.
ERRORS = ("predictor_error", "theorem14", "theorem17")


@dataclass(frozen=True, kw_only=True)
class CellTask(Task):
    """A task of one dataset, problem, method and trial."""

    result_type: ClassVar[type[TaskResult]] = CellResult

    target: Target
    method: Method
    trial: int
    metrics: tuple[str, ...] = ()
    """Names of the metrics to evaluate besides the primary one of the problem."""

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


def fit_kernel(
    task: str,
    kernel: Floats,
    split: Split,
    values: tuple[float, ...],
    *,
    metrics: tuple[str, ...] = (),
    signed: bool,
    largest: float,
) -> CellResult:
    """Fit the path of a combined kernel of all samples, (m, m), and evaluate the theorems for it.

    Parameters
    ----------
    kernel
        Combined kernel, shifted by any constant, which centering removes.
    metrics
        Names of the metrics to evaluate besides the primary one.
    signed
        Whether weights may be negative, so that the kernel may be indefinite. Then its positive part is fitted, and the
        result has the alignments of the positive part: of the kernel centered on the training set, and of the kernel
        centered on the test fold.
    largest
        Bound on `K_k(x, x)` of the base kernels, scaled to trace one.
    """
    centered = center_on(kernel, split.train)
    aligned = None
    if signed:
        centered = positive_part(centered, split.train)
        aligned = Alignments.of(*(_positive_alignment(kernel, split, part) for part in (split.train, split.test)))
    path = fit_path(task, centered, split.target, split.train, split.validation, split.test, values, metrics)
    found = CellResult(path=path.in_units(split.unit), alignments=aligned)
    if signed or np.ptp(split.target[split.train]) == 0:  # the theorems apply to neither
        return found
    return replace(found, theorems=_theorems(task, centered, split, path, largest))


def _theorems(task: str, centered: Floats, split: Split, path: PathResult, largest: float) -> Theorems:
    """Evaluate the theorems; those that bound errors of a regression have the unit of the labels."""
    values = asdict(evaluate_theorems(task, centered, split.target, split.train, split.test))
    if task == "regression":
        values["theorem17"] = _theorem17(path, split, largest)
    values |= {name: split.unit * values[name] for name in ERRORS if values.get(name) is not None}
    return Theorems(**{name: value for name, value in values.items() if value is not None and np.isfinite(value)})


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
    """Return the output of a cell that has no result, with the reason."""
    return Output(result=CellResult(f"failed: {error}"))
