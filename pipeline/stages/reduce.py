"""Reduce: from the sums of all tiles to `M`, `a` and the traces of every trial's training set and test fold."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.labels import label_input, read_centered_labels
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tiles import GramTask, TilesTask
from kernel_pipeline.store.arrays import GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, whole
from kernel_pipeline.store.schema import STATISTICS_ARRAYS
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import fold_bounds, trials
from kernel_pipeline.tasks.kernels.family import kernel_shifts
from kernel_pipeline.tasks.statistics.guarantees import theorem12_of_kernels
from kernel_pipeline.tasks.statistics.statistics import (
    Statistics,
    degenerate,
    diagonals,
    statistics,
    uncentered_alignments,
)
from kernel_pipeline.tasks.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ReduceTask(GramTask):
    """Compute the statistics of one dataset for each of its problems."""

    stage: ClassVar[str] = "reduce"
    version: ClassVar[int] = 4
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask,)
    result_type: ClassVar[type[TaskResult]] = DegenerateKernels

    tasks: tuple[str, ...]
    folds: int
    batches: int

    @property
    def part(self) -> str:
        return "-".join(self.tasks)

    def inputs(self) -> tuple[Input, ...]:
        sums = (whole(STATISTICS, f"{self.dataset}/sums/{field.name}") for field in fields(Sums))
        return (*sums, label_input(self.dataset), whole(GRAM, f"{self.dataset}/fold"))

    def writes(self) -> tuple[Input, ...]:
        return tuple(
            whole(STATISTICS, f"{self.dataset}/{task}/{name}") for task in self.tasks for name in STATISTICS_ARRAYS
        )

    def run(self, store: RunStore) -> Output:
        sums = self._total(store)
        targets, offsets = read_centered_labels(store, self.dataset)
        shifts = np.array(kernel_shifts(self.families))
        fold = store.read(GRAM, f"{self.dataset}/fold")
        bounds = fold_bounds(fold)
        diagonal = [diagonals(sums, trial.train, bounds, shifts) for trial in trials(self.folds)]
        output = Output()
        for index, task in enumerate(self.tasks):
            target, offset = targets[:, index], float(offsets[index])
            by_trial = []
            for trial, on_diagonal in zip(trials(self.folds), diagonal, strict=True):
                train = statistics(sums, target, index, trial.train, bounds)
                test = statistics(sums, target, index, [trial.test], bounds)
                uncentered = uncentered_alignments(sums, target, index, trial.train, bounds, shifts, offset)
                inside = np.isin(fold, trial.train)
                by_trial.append(_arrays(train, test, uncentered, on_diagonal.max(axis=1), target[inside]))
            for name in by_trial[0]:
                values = np.stack([arrays[name] for arrays in by_trial])
                output.digests |= store.write(STATISTICS, f"{self.dataset}/{task}/{name}", values)
        # These do not depend on the labels, so the arrays of the last problem serve for all.
        found = [
            degenerate(arrays["trace"], np.diag(arrays["M"]), on_diagonal.mean(axis=1), on_diagonal.shape[1])
            for arrays, on_diagonal in zip(by_trial, diagonal, strict=True)
        ]
        output.result = DegenerateKernels(
            constant=MarkedKernels.of(np.stack([kernels.constant for kernels in found])),
            flat=MarkedKernels.of(np.stack([kernels.flat for kernels in found])),
            identity=MarkedKernels.of(np.stack([kernels.identity for kernels in found])),
        )
        return output

    def _total(self, store: RunStore) -> Sums:
        """Return the sums of all batches, added in their order, so that the last digits are always the same."""
        names = [field.name for field in fields(Sums)]
        batches = (
            Sums(*(store.read(STATISTICS, f"{self.dataset}/sums/{name}", number) for name in names))
            for number in range(self.batches)
        )
        total = next(batches)
        for batch in batches:
            total += batch
        return total


def _arrays(
    train: Statistics, test: Statistics, uncentered: Floats, diagonal: Floats, labels: Floats
) -> dict[str, Floats]:
    """Return what is stored for one trial: the statistics of kernels that have trace one on the training set."""
    scaled, scaled_test = train.scaled(train.trace), test.scaled(train.trace)
    return {
        "M": scaled.M,
        "a": scaled.a,
        "trace": train.trace,
        "M_test": scaled_test.M,
        "a_test": scaled_test.a,
        "label_norms": np.array([train.label_norm, test.label_norm]),
        "alignment": train.own_alignments(),
        "alignment_test": test.own_alignments(),
        "uncentered": uncentered,
        "unnormalised": scaled.a / len(labels) ** 2,
        "diagonal": diagonal,
        "theorem12": theorem12_of_kernels(np.diag(train.M), diagonal, labels),
    }
