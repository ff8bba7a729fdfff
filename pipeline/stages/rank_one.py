"""Rank-one families: statistics and whole cells from sparse columns; no Gram matrix of a base kernel is ever formed."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse

from kernel_pipeline.config.methods import ONE_STAGE
from kernel_pipeline.stages.cells import (
    NO_RESULT,
    CellTask,
    Split,
    alignments,
    failed,
    fit_kernel,
    measured,
    path_result,
    weights_written,
)
from kernel_pipeline.stages.labels import label_input, read_labels
from kernel_pipeline.stages.statistics import first_kernels
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.weights import find_rule
from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.store.reports import OK
from kernel_pipeline.store.schema import WITHOUT_M
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels, weighted_gram
from kernel_pipeline.tasks.learners.one_stage import learn
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.weights.rank_one_evidence import RankOneEvidence, rank_one_statistics

COLUMNS = ("data", "indices", "indptr", "offset")


def read_columns(store: RunStore, dataset: str) -> tuple[scipy.sparse.csr_array, Floats]:
    """The feature columns, (m, p), and what was taken off each of them."""
    data, indices, indptr, offset = (store.read(DATA, f"{dataset}/columns/{name}") for name in COLUMNS)
    return scipy.sparse.csr_array((data, indices, indptr), shape=(len(indptr) - 1, len(offset))), offset


def column_inputs(dataset: str) -> tuple[Input, ...]:
    """What `read_columns` reads, as the inputs of a task."""
    return tuple(whole(DATA, f"{dataset}/columns/{name}") for name in COLUMNS)


@dataclass(frozen=True, kw_only=True)
class RankOneStatisticsTask(Task):
    """The alignments of every base kernel, for each task and trial."""

    stage: ClassVar[str] = "reduce"
    version: ClassVar[int] = 2

    tasks: tuple[str, ...]
    folds: int

    @property
    def part(self) -> str:
        return "-".join(self.tasks)

    def inputs(self) -> tuple[Input, ...]:
        return (*column_inputs(self.dataset), label_input(self.dataset), whole(GRAM, f"{self.dataset}/fold"))

    def writes(self) -> tuple[Input, ...]:
        return tuple(whole(STATISTICS, f"{self.dataset}/{task}/{name}") for task in self.tasks for name in WITHOUT_M)

    def run(self, store: RunStore) -> Output:
        columns, offset = read_columns(store, self.dataset)
        targets, _ = read_labels(store, self.dataset)
        fold = store.read(GRAM, f"{self.dataset}/fold")
        output = Output()
        for index, task in enumerate(self.tasks):
            for number, trial in enumerate(trials(self.folds)):
                arrays = rank_one_statistics(
                    columns,
                    offset,
                    targets[:, index],
                    np.flatnonzero(np.isin(fold, trial.train)),
                    np.flatnonzero(fold == trial.test),
                )
                for name, values in arrays.items():
                    key = f"{self.dataset}/{task}/{name}"
                    output.digests |= store.write_trials(STATISTICS, key, [number], values[None])
        traces = store.read(STATISTICS, f"{self.dataset}/{self.tasks[0]}/trace")
        output.result["constant"] = first_kernels(traces == 0)
        return output


@dataclass(frozen=True, kw_only=True)
class RankOneCellTask(CellTask):
    """The weights and the fits of one cell."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (RankOneStatisticsTask,)

    q: float | None
    values: tuple[tuple[float, ...], ...]

    def inputs(self) -> tuple[Input, ...]:
        return (*self.split_inputs(), *column_inputs(self.dataset))

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.task}", self.method, [self.trial])

    def run(self, store: RunStore) -> Output:
        split = self.split(store)
        columns, _ = read_columns(store, self.dataset)
        kernels = RankOneKernels.of(columns[split.train], columns[split.held_out])
        try:
            if self.method in ONE_STAGE:
                found = learn(
                    self.method, kernels, split.target, split.train, split.validation, split.test, self.values
                )
                weights, certificate, fits = found.weights, found.certificate, path_result(found.path, split)
                kernel = _combined(columns, weights, kernels.trace)
            else:
                labels = split.target[split.train]
                evidence = RankOneEvidence(kernels, labels - labels.mean())
                weights, certificate = find_rule(self.method, self.q)(evidence)
                kernel = _combined(columns, weights, kernels.trace)
                fits = self._fit(kernel, split, weights, kernels)
        except NO_RESULT as error:
            return failed(error)
        row = measured(weights, certificate)
        if not (weights < 0).any():  # else `fits` has the alignments of the positive part
            row |= alignments(*(_alignment(kernel, split, part) for part in (split.train, split.test)))
        return Output(
            digests=self.write_weights(store, weights, certificate),
            result={"status": OK, "weights": row, **fits},
        )

    def _fit(self, kernel: Floats, split: Split, weights: Floats, kernels: RankOneKernels) -> dict[str, Any]:
        values = tuple(value for (value,) in self.values)
        return fit_kernel(
            self.task,
            kernel,
            split,
            values,
            signed=bool((weights < 0).any()),
            largest=float(kernels.largest_diagonals().max()),
        )


def _combined(columns: scipy.sparse.csr_array, weights: Floats, trace: Floats) -> Floats:
    """The combined kernel of all samples, (m, m), not centered."""
    return weighted_gram(columns, np.divide(weights, trace, out=np.zeros_like(weights), where=weights != 0))


def _alignment(kernel: Floats, split: Split, samples: Integers) -> float:
    return alignment_with_labels(kernel[np.ix_(samples, samples)], split.target[samples])
