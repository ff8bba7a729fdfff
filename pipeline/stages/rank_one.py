"""Rank-one families: statistics and whole cells from sparse columns; no Gram matrix of a base kernel is ever formed."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse

from kernel_pipeline.stages.cell_results import Alignments, CellResult, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed, fit_kernel, weights_written
from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.labels import label_input, read_labels
from kernel_pipeline.stages.samples import Split, Target
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.store.schema import RANK_ONE_ARRAYS
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels, weighted_gram
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod, learn
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.weights.method import WeightRule
from kernel_pipeline.tasks.weights.rank_one_evidence import RankOneEvidence, rank_one_statistics

COLUMNS = ("data", "indices", "indptr", "offset")


def read_columns(store: RunStore, dataset: str) -> tuple[scipy.sparse.csr_array, Floats]:
    """Read the feature columns, (m, p), and what was subtracted from each of them."""
    data, indices, indptr, offset = (store.read(DATA, f"{dataset}/columns/{name}") for name in COLUMNS)
    return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(offset))), offset


def column_inputs(dataset: str) -> tuple[Input, ...]:
    """Return what `read_columns` reads, as the inputs of a task."""
    return tuple(whole(DATA, f"{dataset}/columns/{name}") for name in COLUMNS)


@dataclass(frozen=True, kw_only=True)
class RankOneStatisticsTask(Task):
    """Compute the alignments of every base kernel, for each target and trial."""

    stage: ClassVar[str] = "reduce"
    version: ClassVar[int] = 2
    result_type: ClassVar[type[TaskResult]] = DegenerateKernels

    targets: tuple[Target, ...]
    folds: int

    @property
    def part(self) -> str:
        return "-".join(target.problem for target in self.targets)

    def inputs(self) -> tuple[Input, ...]:
        return (*column_inputs(self.dataset), label_input(self.dataset), whole(GRAM, f"{self.dataset}/fold"))

    def writes(self) -> tuple[Input, ...]:
        groups = [f"{self.dataset}/{target.problem}" for target in self.targets]
        return tuple(whole(STATISTICS, f"{group}/{name}") for group in groups for name in RANK_ONE_ARRAYS)

    def run(self, store: RunStore) -> Output:
        columns, offset = read_columns(store, self.dataset)
        labels, _ = read_labels(store, self.dataset)
        fold = store.read(GRAM, f"{self.dataset}/fold")
        output = Output()
        for target in self.targets:
            for number, trial in enumerate(trials(self.folds)):
                arrays = rank_one_statistics(
                    columns,
                    offset,
                    labels[:, target.column],
                    np.flatnonzero(np.isin(fold, trial.train)),
                    np.flatnonzero(fold == trial.test),
                )
                for name, values in arrays.items():
                    key = f"{self.dataset}/{target.problem}/{name}"
                    output.digests |= store.write_trials(STATISTICS, key, [number], values[None])
        traces = store.read(STATISTICS, f"{self.dataset}/{self.targets[0].problem}/trace")
        output.result = DegenerateKernels(constant=MarkedKernels.of(traces == 0))
        return output


@dataclass(frozen=True)
class _Learned:
    """The weights of a cell, their certificate, the combined kernel of all samples and the result of the fits."""

    weights: Floats
    certificate: float
    kernel: Floats
    fits: CellResult


@dataclass(frozen=True, kw_only=True)
class RankOneCellTask(CellTask):
    """Learn the weights and the fits of one cell."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (RankOneStatisticsTask,)

    values: tuple[tuple[float, ...], ...]

    def inputs(self) -> tuple[Input, ...]:
        return (*self.split_inputs(), *column_inputs(self.dataset))

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.problem}", self.method_id, [self.trial])

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        columns, _ = read_columns(store, self.dataset)
        kernels = RankOneKernels.of(columns[split.train], columns[split.held_out])
        try:
            learned = self._learn(columns, kernels, split)
        except NO_RESULT as error:
            return failed(error)
        aligned = None
        if not (learned.weights < 0).any():  # else the fits have the alignments of the positive part
            aligned = Alignments.of(*(_alignment(learned.kernel, split, part) for part in (split.train, split.test)))
        return Output(
            digests=self.write_weights(store, learned.weights, learned.certificate),
            result=replace(learned.fits, weights=WeightsResult.of(learned.weights, learned.certificate, aligned)),
        )

    @abstractmethod
    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
        """Learn from the columns of all samples and the kernels of the training samples."""


@dataclass(frozen=True, kw_only=True)
class RankOneFitTask(RankOneCellTask):
    """Determine the weights of a two-stage method and fit the combined kernel."""

    method: WeightRule

    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
        labels = split.target[split.train]
        weights, certificate = self.method.weights(RankOneEvidence(kernels, labels - labels.mean()))
        kernel = _combined(columns, weights, kernels.trace)
        fits = fit_kernel(
            self.problem,
            kernel,
            split,
            tuple(value for (value,) in self.values),
            metrics=self.metrics,
            signed=bool((weights < 0).any()),
            largest=float(kernels.largest_diagonals().max()),
        )
        return _Learned(weights, certificate, kernel, fits)


@dataclass(frozen=True, kw_only=True)
class RankOneOneStageTask(RankOneCellTask):
    """Learn weights and predictors by a one-stage method."""

    method: OneStageMethod

    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
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
        kernel = _combined(columns, found.weights, kernels.trace)
        fits = CellResult(path=found.path.in_units(split.unit))
        return _Learned(found.weights, found.certificate, kernel, fits)


def _combined(columns: scipy.sparse.csr_array, weights: Floats, trace: Floats) -> Floats:
    """Return the combined kernel of all samples, (m, m), not centered."""
    return weighted_gram(columns, np.divide(weights, trace, out=np.zeros_like(weights), where=weights != 0))


def _alignment(kernel: Floats, split: Split, samples: Integers) -> float:
    return alignment_with_labels(kernel[np.ix_(samples, samples)], split.target[samples])
