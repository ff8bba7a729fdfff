"""One-stage cells of Gram families, and fits of every base kernel alone: tasks that read the base Gram matrices."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments, CellResult, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed, weights_written
from kernel_pipeline.stages.kernel_results import KernelFits
from kernel_pipeline.stages.matrices import read_symmetric
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.samples import Split
from kernel_pipeline.stages.statistics import read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.store.arrays import GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of, whole
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.centering import center_on
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod, learn
from kernel_pipeline.tasks.learners.paths import fit_path
from kernel_pipeline.tasks.statistics.statistics import alignment

# Target size of a task that fits single kernels: about one second.
OPERATIONS_PER_TASK = 10**10


@dataclass(frozen=True, kw_only=True)
class OneStageTask(CellTask, GramTask):
    """Learn the weights and the path of one cell of a one-stage method."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, ReduceTask)

    method: OneStageMethod
    values: tuple[tuple[float, ...], ...]

    def inputs(self) -> tuple[Input, ...]:
        return (
            *self.split_inputs(),
            whole(GRAM, f"{self.dataset}/gram"),
            *statistics_inputs(self.dataset, self.problem, [self.trial]),  # the traces are among them
        )

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.problem}", self.method_id, [self.trial])

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        trace = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trial)
        gram = read_symmetric(store, GRAM, f"{self.dataset}/gram")
        kernels = GramKernels.of(gram, trace, split.train, split.held_out)
        del gram  # as large as what was made of it
        try:
            found = learn(
                self.method,
                self.problem,
                kernels,
                split.target,
                split.train,
                split.validation,
                split.test,
                self.values,
                self.metrics,
            )
        except NO_RESULT as error:
            return failed(error)
        ((train, test),) = read_statistics(store, self.dataset, self.problem, [self.trial])
        aligned = Alignments.of(alignment(train, found.weights), alignment(test, found.weights))
        return Output(
            digests=self.write_weights(store, found.weights, found.certificate),
            result=CellResult(
                weights=WeightsResult.of(found.weights, found.certificate, aligned),
                path=found.path.in_units(split.unit),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class EachKernelTask(CellTask, GramTask):
    """Fit consecutive base kernels, each alone."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, ReduceTask)
    result_type: ClassVar[type[TaskResult]] = KernelFits

    kernels: tuple[int, ...]
    """Places of the kernels, consecutive."""
    values: tuple[float, ...]

    @property
    def part(self) -> str:
        return f"{super().part}/{self.kernels[0]}-{self.kernels[-1]}"

    def inputs(self) -> tuple[Input, ...]:
        return (
            *self.split_inputs(),
            whole(GRAM, f"{self.dataset}/gram"),
            trials_of(STATISTICS, f"{self.dataset}/{self.problem}/trace", [self.trial]),
        )

    def writes(self) -> tuple[Input, ...]:
        return ()

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        traces = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trial)
        chosen = slice(self.kernels[0], self.kernels[-1] + 1)
        grams = read_symmetric(store, GRAM, f"{self.dataset}/gram", chosen)
        found = [self._fit(gram, float(trace), split) for gram, trace in zip(grams, traces[chosen], strict=True)]
        errors, statuses = zip(*found, strict=True)
        return Output(result=KernelFits(errors, statuses))

    def read_result(self, value: object) -> TaskResult:
        fits = KernelFits.from_json(value)
        if len(fits.errors) != len(self.kernels):
            raise ValueError(f"the result: there are {len(fits.errors)} 'errors' of {len(self.kernels)} kernels")
        return fits

    def _fit(self, gram: Floats, trace: float, split: Split) -> tuple[float | None, str]:
        """Return the test error of one kernel, and its status: why it has no error, if it has none."""
        if trace == 0.0:
            return None, "failed: the kernel is constant on the training set"
        centered = center_on(gram, split.train)
        centered /= trace
        try:
            path = fit_path(
                self.problem, centered, split.target, split.train, split.validation, split.test, self.values
            )
        except NO_RESULT as error:
            return None, f"failed: {error}"
        return path.in_units(split.unit).test_errors[path.best], OK


def kernel_batches(kernels: int, samples: int) -> list[tuple[int, ...]]:
    """Return the kernels that one task fits, for all tasks."""
    size = int(np.clip(OPERATIONS_PER_TASK // samples**3, 1, kernels))
    return [tuple(range(start, min(start + size, kernels))) for start in range(0, kernels, size)]
