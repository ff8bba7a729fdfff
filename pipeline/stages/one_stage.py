"""Fits stage: fit one-stage cells of Gram families from the base Gram matrices."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import CellResult, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, failed
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.matrices import assemble
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.statistics import read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod, OneStageResult, learn


@dataclass(frozen=True, kw_only=True)
class OneStageTask(FinalFitTask, GramTask):
    """Learn the weights and predictors of one cell by a one-stage method."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 4
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, ReduceTask)

    method: OneStageMethod
    values: tuple[tuple[float, ...], ...]

    def inputs(self) -> tuple[Input, ...]:
        permuted = self.permutations is not None
        statistics = statistics_inputs(self.dataset, self.problem, [self.trial], permuted)  # including the traces
        return tuple(dict.fromkeys((*self.split_inputs(), *self.base_inputs(), *statistics)))

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        trace = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trial)
        try:
            found = self._learn(store, split, self.values, trace)
            path = self.with_final_fit(
                found.path, split, lambda joined, value: self._learn(store, joined, (value,), trace, True).path
            ).in_units(split.unit)
        except NO_RESULT as error:
            return failed(error)
        permuted = self.permutations is not None
        (statistics,) = read_statistics(store, self.dataset, self.problem, [self.trial], permuted)
        aligned = statistics.alignments(found.weights)
        digests = self.write_weights(store, found.weights, found.certificate)
        return Output(
            digests=digests | self.write_predictions(store, split, path),
            result=CellResult(weights=WeightsResult.of(found.weights, found.certificate, aligned), path=path),
        )

    def _learn(
        self, store: RunStore, split: Split, values: tuple[tuple[float, ...], ...], trace: Floats, joined: bool = False
    ) -> OneStageResult:
        """Learn from the training samples of a split.

        Parameters
        ----------
        trace
            Traces of the kernels on the training set of the trial.
        joined
            Whether the training samples include the validation samples; the traces are then computed again.
        """
        gram = assemble(self.base_tiles(store), len(split.target), self.tile_size)
        traces = (
            np.where(trace > 0, [_centered_trace(matrix, split.train) for matrix in gram], 0.0) if joined else trace
        )
        kernels = GramKernels.of(gram, traces, split.train, split.held_out)
        del gram  # frees memory: it is as large as `kernels`
        return learn(self.method, self.problem, kernels, split, values, self.metrics, self.metric)


def _centered_trace(matrix: Floats, samples: Integers) -> float:
    square = matrix[np.ix_(samples, samples)]
    return float(np.trace(square) - square.mean(axis=0).sum())
