"""Implement what the tasks of single cells share: reading samples, writing weights and fitting a learned kernel."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments, CellResult, Theorems
from kernel_pipeline.stages.fitted import FittedTask
from kernel_pipeline.stages.samples import Target, read_split, split_inputs
from kernel_pipeline.stages.task import Output
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.arrays import PREDICTIONS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_on, positive_part
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.few_columns import fit_factored_path
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import PathResult, fit_path
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.metrics import chosen_metric
from kernel_pipeline.tasks.statistics.alignment import alignment_predictor, positive_part_alignment
from kernel_pipeline.tasks.statistics.debiased import Estimates
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments, evaluate_theorems, theorem16, theorem17
from kernel_pipeline.tasks.weights.method import Method

# Errors for which a cell is reported as failed, while the rest of the sweep continues.
NO_RESULT = (NoResultError, np.linalg.LinAlgError)
# Members of `Theorems` that have the unit of the labels in a regression: an error, bounds on errors, and a bound on the
# change of a prediction (Theorem 16).
IN_LABEL_UNITS = ("predictor_error", "theorem14", "theorem16", "theorem17")


@dataclass(frozen=True, kw_only=True)
class CellTask(FittedTask):
    """A task of one dataset, problem, method and trial."""

    result_type: ClassVar[type[TaskResult]] = CellResult

    target: Target
    method: Method
    trial: int
    """Number of the trial among those of all repeats, ordered by repeat and then by trial."""
    metrics: tuple[str, ...] = ()
    """Names of the metrics to evaluate at the chosen regularisation value."""
    metric: str = ""
    """Name of the metric by which the regularisation value is chosen; empty for the primary one of the problem."""
    fixed_test: bool = False
    """Whether the last fold is the test set of every trial."""

    @property
    def problem(self) -> str:
        """Return the problem that is learned, "regression" or "classification"."""
        return self.target.problem

    @property
    def method_id(self) -> str:
        """Return the name of the method in tables and arrays."""
        return self.method.method_id

    @property
    def part(self) -> str:
        return f"{self.problem}/{self.method_id}/{self.trial}"

    @property
    def method_key(self) -> tuple[str, str]:
        return self.problem, self.method_id

    def read_result(self, value: object) -> TaskResult:
        found = super().read_result(value)
        errors = found.path.output_errors if isinstance(found, CellResult) and found.path else []
        if errors and len(errors) != len(self.target.columns):
            raise ValueError(f"the result has errors of {len(errors)} outputs, not of {len(self.target.columns)}")
        return found

    def split_inputs(self) -> tuple[Input, ...]:
        """Return the arrays that `split` reads, as inputs."""
        return split_inputs(self.dataset, self.repeats)

    def split(self, store: RunStore) -> Split:
        """Read the labels of all samples, and the samples of the training, validation and test sets."""
        return read_split(
            store, self.dataset, self.target, self.trial, self.fixed_test, self.repeats, self.permutations
        )

    def write_weights(self, store: RunStore, weights: Floats, certificate: float) -> dict[str, str]:
        """Store the weights of the cell and their certificate; return the digests of the chunks."""
        group = f"{self.dataset}/{self.problem}"
        return write_weights(store, group, self.method_id, [self.trial], [weights], [certificate])

    def predictions_written(self) -> tuple[Input, ...]:
        """Return the part of the array to which `write_predictions` writes."""
        return (trials_of(PREDICTIONS, f"{self.dataset}/{self.problem}/{self.method_id}", [self.trial]),)

    def write_predictions(self, store: RunStore, split: Split, path: PathResult | None) -> dict[str, str]:
        """Store the predictions of the chosen fit, NaN for training samples; return the digest of the chunk."""
        if path is None or path.predictions is None:
            raise ValueError(f"{self.name} has no predictions")
        values = np.full(split.target.shape, np.nan)
        values[split.held_out] = path.predictions
        name = f"{self.dataset}/{self.problem}/{self.method_id}"
        return store.write_trials(PREDICTIONS, name, [self.trial], values[None])


def weights_written(group: str, method: str, trials: Iterable[int]) -> tuple[Input, ...]:
    """Return the parts of arrays to which the weights of some trials of a method are written."""
    chosen = tuple(trials)
    return tuple(trials_of(WEIGHTS, name, chosen) for name in (f"{group}/{method}", f"{group}/certificate/{method}"))


def write_weights(
    store: RunStore,
    group: str,
    method: str,
    trials: Sequence[int],
    weights: Sequence[Floats],
    certificates: Sequence[float | None],
) -> dict[str, str]:
    """Store the weights of some trials of a method and their certificates, NaN for None; return the digests."""
    return store.write_trials(WEIGHTS, f"{group}/{method}", trials, weights) | store.write_trials(
        WEIGHTS, f"{group}/certificate/{method}", trials, certificates
    )


def fit_kernel(
    problem: str,
    kernel: TrialKernel,
    split: Split,
    options: FitOptions,
    largest_diagonal: float,
) -> CellResult:
    """Fit the path of a combined kernel, and evaluate the theorems for it.

    Parameters
    ----------
    kernel
        Combined kernel of the trial, which is overwritten.
    largest_diagonal
        Bound on `K_k(x, x)` of the base kernels, scaled to trace one.
    """
    if not has_theorems(split):
        path = fit_path(problem, kernel, split, options)
        return CellResult(path=path.in_units(split.unit))
    # Computed before the fit, which may overwrite the kernel; predictions for test samples are added block by block.
    labels, norm = split.labels[split.train], float(np.linalg.norm(kernel.train))
    moments = KernelMoments.of(kernel.train, kernel.train[:0], labels)
    predicted: list[Floats] = []

    def observed() -> Iterator[Floats]:
        for rows in kernel.held_out():
            predicted.append(alignment_predictor(norm, rows, labels))
            yield rows

    path = fit_path(problem, replace(kernel, held_out=observed), split, options)
    moments = replace(moments, predicted=np.concatenate(predicted)[len(split.validation) :])
    theorems = theorems_of(problem, moments, split, path, largest_diagonal)
    return CellResult(path=path.in_units(split.unit), theorems=theorems)


def fit_signed_kernel(problem: str, kernel: Floats, split: Split, options: FitOptions) -> CellResult:
    """Fit the path of the positive part of a combined kernel with negative weights, which may be indefinite.

    The result contains the alignments of the positive part: of the kernel centered on the training set, and of the
    kernel centered on the test fold. The theorems are not evaluated.

    Parameters
    ----------
    kernel
        Combined kernel of all samples, (m, m), up to a constant, which centering removes.
    """
    centered = positive_part(center_on(kernel, split.train), split.train)
    aligned = Alignments.of(*(_positive_alignment(kernel, split, part) for part in (split.train, split.test)))
    part = TrialKernel.of_centered(centered, split.train, split.held_out)
    path = fit_path(problem, part, split, options)
    return CellResult(path=path.in_units(split.unit), alignments=aligned)


def fit_factored_kernel(
    problem: str,
    columns: WeightedColumns,
    split: Split,
    options: FitOptions,
    largest_diagonal: float,
) -> CellResult:
    """Fit the combined kernel of few columns like `fit_kernel` or `fit_signed_kernel`, but without forming it."""
    kernel, aligned = columns.kernel(), None
    if columns.is_signed:
        aligned = factored_alignments(columns, split)
    path = fit_factored_path(problem, kernel, split, options)
    found = CellResult(path=path.in_units(split.unit), alignments=aligned)
    if columns.is_signed or not has_theorems(split):
        return found
    test = slice(len(split.validation), None)
    moments = kernel.moments(split.labels[split.train], test)
    return replace(found, theorems=theorems_of(problem, moments, split, path, largest_diagonal))


def factored_alignments(columns: WeightedColumns, split: Split) -> Alignments:
    """Return the alignments of the combined kernel of few columns on the training set and on the test fold."""
    test = slice(len(split.validation), None)
    return Alignments.of(
        columns.alignment(split.target[split.train], permuted=split.permuted(split.train)),
        columns.alignment(split.target[split.test], test, split.permuted(split.test)),
    )


def has_theorems(split: Split) -> bool:
    """Return whether the theorems are evaluated: for one column of labels that are not constant."""
    return split.target.shape[1] == 1 and bool(np.ptp(split.target[split.train]) > 0)


def theorems_of(
    problem: str, moments: KernelMoments, split: Split, path: PathResult, largest_diagonal: float
) -> Theorems:
    """Evaluate the theorems; in a regression, those of `IN_LABEL_UNITS` are converted to the unit of the labels."""
    labels = split.labels
    values = asdict(evaluate_theorems(problem, moments, labels[split.train], labels[split.test]))
    if problem == "regression" and chosen_metric(problem, path.metric).has_error_bounds:
        values |= _error_theorems(path, split, largest_diagonal)
    values |= {name: split.unit * values[name] for name in IN_LABEL_UNITS if values.get(name) is not None}
    return Theorems(**{name: value for name, value in values.items() if value is not None and np.isfinite(value)})


def _positive_alignment(kernel: Floats, split: Split, samples: Integers) -> Estimates:
    return positive_part_alignment(kernel[np.ix_(samples, samples)], split.target[samples], split.permuted(samples))


def _error_theorems(path: PathResult, split: Split, largest_diagonal: float) -> dict[str, float]:
    """Evaluate the theorems on kernel ridge regression for the chosen ridge."""
    labels = split.labels[split.train]
    (ridge,) = path.values[path.best]
    largest_label = float(np.abs(labels - labels.mean()).max())
    empirical = float(path.train_errors[path.best] or 0.0)
    return {
        "theorem16": theorem16(len(labels), ridge, largest_label, largest_diagonal),
        "theorem17": theorem17(empirical, len(labels), ridge, largest_label, largest_diagonal),
    }


def failed(error: Exception) -> Output:
    """Return the output of a cell that failed, with the reason."""
    return Output(result=CellResult(f"failed: {error}"))
