"""Rank-one families: fit every column separately, and fit the best one of each trial again with all metrics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cells import NO_RESULT, factored_alignments, failed
from kernel_pipeline.stages.rank_one import column_inputs, read_columns
from kernel_pipeline.stages.single_kernels import CONSTANT, SingleFit, SingleKernelsTask, SmallestErrorKernelTask
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.learners.single_columns import fit_single_column_path, single_column_errors

# Target size of a task in samples times kernels: about one second.
ENTRIES_PER_TASK = 2_000_000
NOT_SOLVED = "failed: no value of the path has a certified fit with a finite validation error"


@dataclass(frozen=True, kw_only=True)
class RankOneEachKernelTask(SingleKernelsTask):
    """Fit consecutive columns separately."""

    version: ClassVar[int] = 1

    def inputs(self) -> tuple[Input, ...]:
        return (*self.split_inputs(), *column_inputs(self.data_group))

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        kernels = _read_kernels(store, self.data_group, split, np.asarray(self.kernels))
        varying = np.flatnonzero(kernels.varies)
        validation, test = single_column_errors(
            self.problem, kernels.only(varying), split, self.values, self.class_weight, self.metric
        )
        unit = self.error_unit(split)
        fits = [SingleFit(reason=CONSTANT)] * self.count
        for place, *errors in zip(varying.tolist(), validation.tolist(), test.tolist(), strict=True):
            solved = not np.isnan(errors[0])
            fits[place] = SingleFit(unit * errors[0], unit * errors[1]) if solved else SingleFit(reason=NOT_SOLVED)
        return self.write_fits(store, fits)


@dataclass(frozen=True, kw_only=True)
class RankOneBestSingleTask(SmallestErrorKernelTask):
    """Fit the best column of a trial."""

    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Task], ...]] = (RankOneEachKernelTask,)

    n_kernels: int
    """Number of base kernels."""

    def inputs(self) -> tuple[Input, ...]:
        return (*self.split_inputs(), *column_inputs(self.data_group), *self.choice_inputs())

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        try:
            best = self.choose_kernel(store)
            kernel = _read_kernels(store, self.data_group, split, np.array([best]))
            path = self._fit(kernel, split, self.values)
            path = self.with_final_fit(
                path,
                split,
                lambda joined, value: self._fit(
                    _read_kernels(store, self.data_group, joined, np.array([best])), joined, value
                ),
            )
        except NO_RESULT as error:
            return failed(error)
        alignments = factored_alignments(WeightedColumns.of(kernel, np.ones(1)), split)
        return self.write_best(store, split, np.eye(1, self.n_kernels, best)[0], path, alignments)

    def _fit(self, kernel: RankOneKernels, split: Split, values: tuple[float, ...]) -> PathResult:
        options = FitOptions(values, self.metrics, self.metric, self.class_weight)
        return fit_single_column_path(self.problem, kernel, split, options)


def _read_kernels(store: RunStore, group: str, split: Split, chosen: Integers) -> RankOneKernels:
    """Return the kernels of some columns."""
    columns = read_columns(store, group)[0][:, chosen]
    return RankOneKernels.of(columns[split.train], columns[split.held_out])


def columns_per_task(kernels: int, samples: int) -> int:
    """Return the number of columns that one task fits."""
    return int(np.clip(ENTRIES_PER_TASK // samples, 1, kernels))
