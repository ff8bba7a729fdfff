"""Fits stage: fit every base kernel separately, and the best one of each trial again, from the base Gram matrices."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments, CellResult, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.kernel_results import KernelFits
from kernel_pipeline.stages.matrices import assemble_trial
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.statistics import read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tile_sources import ChosenTiles, KeptTiles, TileSource
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.best_single import smallest_error_kernel
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import PathResult, fit_path
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.metrics import chosen_metric
from kernel_pipeline.tasks.progress import progress_part

# Target size of a task that fits single kernels: about one second.
OPERATIONS_PER_TASK = 10**10
VALIDATION_ERROR, TEST_ERROR = "each-kernel/validation_error", "each-kernel/error"
CONSTANT = "failed: the kernel is constant on the training set"


@dataclass(frozen=True)
class SingleFit:
    """Errors of one base kernel at its best regularisation value, in the unit of the labels."""

    validation: float = np.nan
    test: float = np.nan
    reason: str = ""
    """Why there is no fit; empty if there is one."""

    @classmethod
    def of(cls, path: PathResult) -> "SingleFit":
        """Return the errors of a path."""
        validation, test = (errors[path.best] for errors in (path.validation_errors, path.test_errors))
        return cls(np.nan if validation is None else validation, np.nan if test is None else test)


@dataclass(frozen=True, kw_only=True)
class SingleKernelsTask(CellTask):
    """Fit consecutive base kernels separately, and store their errors."""

    stage: ClassVar[str] = "fits"
    result_type: ClassVar[type[TaskResult]] = KernelFits

    number: int
    """Number of the batch, which is one chunk of the arrays of errors."""
    first: int
    count: int
    values: tuple[float, ...]
    class_weight: str | None = None

    @property
    def kernels(self) -> range:
        """Return the indices of the kernels."""
        return range(self.first, self.first + self.count)

    @property
    def part(self) -> str:
        return f"{super().part}/{self.kernels[0]}-{self.kernels[-1]}"

    def writes(self) -> tuple[Input, ...]:
        group = f"{self.dataset}/{self.problem}"
        return tuple(trials_of(STATISTICS, f"{group}/{key}", [self.trial]) for key in (VALIDATION_ERROR, TEST_ERROR))

    def read_result(self, value: object) -> TaskResult:
        fits = KernelFits.from_json(value)
        if unknown := [k for kernels in fits.failed.values() for k in kernels if k not in self.kernels]:
            fitted = f"{self.kernels[0]} to {self.kernels[-1]}"
            raise ValueError(f"the result: 'failed' has kernel {unknown[0]}; the task fits only kernels {fitted}")
        return fits

    def error_unit(self, split: Split) -> float:
        """Return the factor that converts errors to the unit of the labels."""
        return split.unit if chosen_metric(self.problem, self.metric).in_label_units else 1.0

    def write_fits(self, store: RunStore, fits: Sequence[SingleFit]) -> Output:
        """Store the errors of all kernels of the task, NaN without a fit; return digests and why fits are missing."""
        digests: dict[str, str] = {}
        for key, values in (
            (VALIDATION_ERROR, [fit.validation for fit in fits]),
            (TEST_ERROR, [fit.test for fit in fits]),
        ):
            name, chunk = f"{self.dataset}/{self.problem}/{key}", (self.trial, self.number)
            digests |= store.write_chunk(STATISTICS, name, chunk, np.array([values]))
        reasons: dict[str, tuple[int, ...]] = {}
        for kernel, fit in zip(self.kernels, fits, strict=True):
            if fit.reason:
                reasons[fit.reason] = (*reasons.get(fit.reason, ()), kernel)
        return Output(digests=digests, result=KernelFits(reasons))


@dataclass(frozen=True, kw_only=True)
class SmallestErrorKernelTask(FinalFitTask):
    """Fit the base kernel with the smallest validation error again, to evaluate all metrics and store predictions."""

    stage: ClassVar[str] = "fits"

    values: tuple[float, ...]
    class_weight: str | None = None

    def choice_inputs(self) -> tuple[Input, ...]:
        """Return what `choose_kernel` reads, as inputs."""
        return (trials_of(STATISTICS, f"{self.dataset}/{self.problem}/{VALIDATION_ERROR}", [self.trial]),)

    def choose_kernel(self, store: RunStore) -> int:
        """Return the index of the kernel with the smallest validation error."""
        name = f"{self.dataset}/{self.problem}/{VALIDATION_ERROR}"
        return smallest_error_kernel(store.read(STATISTICS, name, self.trial, allow_nan=True))

    def write_best(
        self, store: RunStore, split: Split, weights: Floats, path: PathResult, alignments: Alignments
    ) -> Output:
        """Store the weights, which are 1 for the chosen kernel, and the predictions of its fit."""
        scaled = path.in_units(split.unit)
        digests = self.write_weights(store, weights, 0.0)
        return Output(
            digests=digests | self.write_predictions(store, split, scaled),
            result=CellResult(weights=WeightsResult.of(weights, 0.0, alignments), path=scaled),
        )


@dataclass(frozen=True, kw_only=True)
class EachKernelTask(SingleKernelsTask, GramTask):
    """Fit consecutive base kernels of Gram families separately."""

    version: ClassVar[int] = 5
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, ReduceTask)

    def inputs(self) -> tuple[Input, ...]:
        traces = trials_of(STATISTICS, f"{self.dataset}/{self.problem}/trace", [self.trial])
        return tuple(dict.fromkeys((*self.split_inputs(), *self.base_inputs(), traces)))

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        traces = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trial)
        kernels = _trial_kernels(self.base_tiles(store), split, self.tile_size, self.kernels)
        fits = []
        for number, (k, kernel) in enumerate(zip(self.kernels, kernels, strict=True), 1):
            with progress_part(f"kernel {number} of {self.count}"):
                fits.append(self._fit(kernel, float(traces[k]), split))
        return self.write_fits(store, fits)

    def _fit(self, kernel: TrialKernel, trace: float, split: Split) -> SingleFit:
        if trace == 0.0:
            return SingleFit(reason=CONSTANT)
        scaled = kernel.divided(trace)
        options = FitOptions(self.values, metric=self.metric, class_weight=self.class_weight)
        try:
            path = fit_path(self.problem, scaled, split, options)
        except NO_RESULT as error:
            return SingleFit(reason=f"failed: {error}")
        return SingleFit.of(path.in_units(split.unit))


@dataclass(frozen=True, kw_only=True)
class BestSingleTask(SmallestErrorKernelTask, GramTask):
    """Fit the best base kernel of a trial of Gram families."""

    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (EachKernelTask,)

    def inputs(self) -> tuple[Input, ...]:
        statistics = statistics_inputs(self.dataset, self.problem, [self.trial])  # the traces are among them
        return tuple(dict.fromkeys((*self.split_inputs(), *self.base_inputs(), *statistics, *self.choice_inputs())))

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        traces = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trial)
        try:
            best = self.choose_kernel(store)
            path = self._fit(store, best, split, self.values, float(traces[best]))
            path = self.with_final_fit(path, split, lambda joined, value: self._fit(store, best, joined, value))
        except NO_RESULT as error:
            return failed(error)
        (statistics,) = read_statistics(store, self.dataset, self.problem, [self.trial])
        weights = np.eye(1, len(traces), best)[0]
        return self.write_best(store, split, weights, path, statistics.alignments(weights))

    def _fit(
        self, store: RunStore, best: int, split: Split, values: tuple[float, ...], trace: float | None = None
    ) -> PathResult:
        """Fit a kernel, scaled to trace one on the training samples of a split; its trace is computed if not given."""
        (kernel,) = _trial_kernels(self.base_tiles(store), split, self.tile_size, range(best, best + 1))
        scaled = kernel.divided(float(np.trace(kernel.train)) if trace is None else trace)
        options = FitOptions(values, self.metrics, self.metric, self.class_weight)
        return fit_path(self.problem, scaled, split, options)


def _trial_kernels(source: TileSource, split: Split, tile_size: int, kernels: range) -> Iterator[TrialKernel]:
    """Yield the kernels of a trial one after another. If there are several, their tiles are read once and kept."""
    kept = KeptTiles(source, kernels) if len(kernels) > 1 else source
    first = kernels.start if len(kernels) > 1 else 0
    for kernel in kernels:
        yield assemble_trial(ChosenTiles(kept, kernel - first), split, tile_size)


def kernels_per_task(kernels: int, samples: int) -> int:
    """Return the number of kernels of Gram families that one task fits."""
    return int(np.clip(OPERATIONS_PER_TASK // samples**3, 1, kernels))


def kernel_batches(kernels: int, size: int) -> list[range]:
    """Divide kernels into batches of a given size; the last one may be smaller.

    >>> kernel_batches(5, 2)
    [range(0, 2), range(2, 4), range(4, 5)]
    """
    return [range(start, min(start + size, kernels)) for start in range(0, kernels, size)]
