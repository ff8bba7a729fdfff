"""Rank-one families: compute statistics and fit cells from sparse columns, without Gram matrices of base kernels."""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.sparse

from kernel_pipeline.stages.cell_results import Alignments, CellResult, WeightsResult
from kernel_pipeline.stages.cells import (
    NO_RESULT,
    factored_alignments,
    failed,
    fit_factored_kernel,
    fit_kernel,
    fit_signed_kernel,
)
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.fitted import StatisticsTask
from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.labels import label_input, read_labels
from kernel_pipeline.stages.samples import Target, folds_input, read_folds
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.arrays import DATA, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.store.schema import RANK_ONE_STATISTICS
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels, weighted_gram
from kernel_pipeline.tasks.labels import center_labels
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod, learn
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.weights.method import WeightRule
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics, rank_one_statistics

COLUMNS = ("data", "indices", "indptr", "offset")


def read_columns(store: RunStore, group: str) -> tuple[scipy.sparse.csr_array, Floats]:
    """Read the feature columns of a `data_group`, (m, p), and the value that was subtracted from each of them."""
    data, indices, indptr, offset = (store.read(DATA, f"{group}/columns/{name}") for name in COLUMNS)
    return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(offset))), offset


def column_inputs(group: str) -> tuple[Input, ...]:
    """Return the arrays that `read_columns` reads, as inputs of a task."""
    return tuple(whole(DATA, f"{group}/columns/{name}") for name in COLUMNS)


@dataclass(frozen=True, kw_only=True)
class RankOneStatisticsTask(StatisticsTask):
    """Compute the statistics of every base kernel, for each target and trial."""

    stage: ClassVar[str] = "reduce"
    version: ClassVar[int] = 4
    result_type: ClassVar[type[TaskResult]] = DegenerateKernels

    targets: tuple[Target, ...]

    @property
    def part(self) -> str:
        return "-".join(target.problem for target in self.targets) + self.repeat_part

    def inputs(self) -> tuple[Input, ...]:
        return (*column_inputs(self.data_group), label_input(self.dataset), folds_input(self.dataset, self.repeats))

    def writes(self) -> tuple[Input, ...]:
        groups = [f"{self.dataset}/{target.problem}" for target in self.targets]
        return tuple(self.statistics_written(f"{group}/{name}") for group in groups for name in RANK_ONE_STATISTICS)

    def run(self, store: RunStore) -> Output:
        columns, offset = read_columns(store, self.data_group)
        labels, _ = read_labels(store, self.dataset)
        fold = read_folds(store, self.dataset, self.repeats)[self.repeat]
        numbered = self.numbered_trials()
        output = Output()
        for target in self.targets:
            for number, trial in numbered.items():
                arrays = rank_one_statistics(
                    columns,
                    offset,
                    labels[:, list(target.columns)],
                    np.flatnonzero(np.isin(fold, trial.train)),
                    np.flatnonzero(fold == trial.test),
                )
                for name, values in arrays.items():
                    key = f"{self.dataset}/{target.problem}/{name}"
                    output.digests |= store.write_trials(STATISTICS, key, [number], values[None])
        chosen = slice(min(numbered), max(numbered) + 1)
        traces = store.read(STATISTICS, f"{self.dataset}/{self.targets[0].problem}/trace", chosen)
        # The columns of words outside of the vocabulary of a trial are empty, and thus constant, but are not reported.
        used = np.diff(columns.tocsc().indptr) > 0 if self.fit_on else True
        output.result = DegenerateKernels(constant=MarkedKernels.of((traces == 0) & used, list(numbered)))
        return output


@dataclass(frozen=True)
class _Learned:
    """The weights of a cell, their certificate, the result of the fits, and the alignments of the combined kernel."""

    weights: Floats
    certificate: float
    fits: CellResult
    alignments: Alignments | None
    """None if a weight is negative: the fits then report the alignments of the positive part."""


@dataclass(frozen=True, kw_only=True)
class RankOneCellTask(FinalFitTask):
    """Determine the weights of one cell, and fit its path."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 4
    reads: ClassVar[tuple[type[Task], ...]] = (RankOneStatisticsTask,)

    values: tuple[tuple[float, ...], ...]
    few_columns: bool = False
    """Whether there are fewer columns than training samples. The combined kernel is then not formed."""

    def inputs(self) -> tuple[Input, ...]:
        return (*self.split_inputs(), *column_inputs(self.data_group))

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        columns, _ = read_columns(store, self.data_group)
        kernels = RankOneKernels.of(columns[split.train], columns[split.held_out])
        try:
            learned = self._learn(columns, kernels, split)
        except NO_RESULT as error:
            return failed(error)
        weights = WeightsResult.of(learned.weights, learned.certificate, learned.alignments)
        digests = self.write_weights(store, learned.weights, learned.certificate)
        return Output(
            digests=digests | self.write_predictions(store, split, learned.fits.path),
            result=replace(learned.fits, weights=weights),
        )

    @abstractmethod
    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
        """Determine the weights and fit the path, given the columns of all samples and the kernels of the trial."""


@dataclass(frozen=True, kw_only=True)
class RankOneFitTask(RankOneCellTask):
    """Determine the weights of a two-stage method and fit the combined kernel."""

    version: ClassVar[int] = 6

    method: WeightRule
    class_weight: str | None = None

    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
        labels = center_labels(split.target[split.train])
        weights, certificate = self.method.weights(RankOneStatistics(kernels, labels))
        signed = bool((weights < 0).any())
        largest_diagonal = float(kernels.largest_diagonals().max())
        values = tuple(value for (value,) in self.values)
        if self.few_columns:

            def fit_factored(samples: Split, chosen: tuple[float, ...]) -> CellResult:
                evaluated = (
                    kernels
                    if samples is split
                    else kernels.on_samples(columns[samples.train], columns[samples.held_out])
                )
                factor = WeightedColumns.of(evaluated, weights * (len(split.train) / len(samples.train)))
                return fit_factored_kernel(self.problem, factor, samples, self._options(chosen), largest_diagonal)

            fits = self.with_final_cell(fit_factored(split, values), split, fit_factored)
            aligned = None if signed else factored_alignments(WeightedColumns.of(kernels, weights), split)
            return _Learned(weights, certificate, fits, aligned)
        kernel = _combined(columns, weights, kernels.trace)

        def fit(samples: Split, chosen: tuple[float, ...]) -> CellResult:
            # The kernel has trace one on the training set. For a larger set it is divided by the ratio of the sizes,
            # so that the regularisation per sample is the same.
            scaled = kernel if samples is split else kernel * (len(split.train) / len(samples.train))
            if signed:
                return fit_signed_kernel(self.problem, scaled, samples, self._options(chosen))
            trial_kernel = TrialKernel.of(scaled, samples.train, samples.held_out)
            return fit_kernel(self.problem, trial_kernel, samples, self._options(chosen), largest_diagonal)

        fits = self.with_final_cell(fit(split, values), split, fit)
        return _Learned(weights, certificate, fits, None if signed else _alignments(kernel, split))

    def _options(self, values: tuple[float, ...]) -> FitOptions:
        return FitOptions(values, self.metrics, self.metric, self.class_weight)


@dataclass(frozen=True, kw_only=True)
class RankOneOneStageTask(RankOneCellTask):
    """Learn weights and predictors by a one-stage method."""

    method: OneStageMethod

    def _learn(self, columns: scipy.sparse.csr_array, kernels: RankOneKernels, split: Split) -> _Learned:
        found = learn(self.method, self.problem, kernels, split, self.values, self.metrics, self.metric)
        if self.few_columns:
            alignments = factored_alignments(WeightedColumns.of(kernels, found.weights), split)
        else:
            alignments = _alignments(_combined(columns, found.weights, kernels.trace), split)
        path = self.with_final_fit(found.path, split, lambda joined, value: self._final(columns, joined, value))
        return _Learned(found.weights, found.certificate, CellResult(path=path.in_units(split.unit)), alignments)

    def _final(self, columns: scipy.sparse.csr_array, joined: Split, value: tuple[float, ...]) -> PathResult:
        kernels = RankOneKernels.of(columns[joined.train], columns[joined.held_out])
        return learn(self.method, self.problem, kernels, joined, (value,), self.metrics, self.metric).path


def _combined(columns: scipy.sparse.csr_array, weights: Floats, trace: Floats) -> Floats:
    """Return the combined kernel of all samples, (m, m), not centered."""
    return weighted_gram(columns, np.divide(weights, trace, out=np.zeros_like(weights), where=weights != 0))


def _alignments(kernel: Floats, split: Split) -> Alignments:
    """Return the alignments of a kernel of all samples on the training set and on the test fold."""
    parts = (split.train, split.test)
    return Alignments.of(
        *(
            alignment_with_labels(kernel[np.ix_(samples, samples)], split.target[samples], split.permuted(samples))
            for samples in parts
        )
    )
