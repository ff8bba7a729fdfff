"""Reduce stage: compute `M`, `a` and the traces of each trial's training set and test fold from the sums of tiles."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.fitted import StatisticsTask
from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.labels import label_input, read_centered_labels
from kernel_pipeline.stages.samples import Target, folds_input, make_targets, read_folds
from kernel_pipeline.stages.statistics import PERMUTED
from kernel_pipeline.stages.task import IDENTITY_NAME, Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tiles import GramTask, TilesTask, sums_names
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.inputs import SUMS, Input, whole
from kernel_pipeline.store.schema import GRAM_STATISTICS
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.kernels.family import kernel_shifts
from kernel_pipeline.tasks.statistics.debiased import debiased_statistics
from kernel_pipeline.tasks.statistics.guarantees import theorem12_of_kernels
from kernel_pipeline.tasks.statistics.permutations import Permutations, permuted_products
from kernel_pipeline.tasks.statistics.statistics import (
    Statistics,
    centered_diagonals,
    diagonals,
    find_degenerate,
    statistics,
    uncentered_alignments,
)
from kernel_pipeline.tasks.statistics.sums import Sums


@dataclass(frozen=True, kw_only=True)
class ReduceTask(GramTask, StatisticsTask):
    """Compute the statistics of one dataset for each of its problems."""

    stage: ClassVar[str] = "reduce"
    version: ClassVar[int] = 5
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask,)
    result_type: ClassVar[type[TaskResult]] = DegenerateKernels

    problems: tuple[str, ...] = field(metadata={IDENTITY_NAME: "tasks"})
    batches: int
    """Number of batches of tiles, each with sums of its own."""
    widths: tuple[int, ...] = ()
    """Number of label columns of each problem; empty if each has one."""

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return each problem with its block of label columns."""
        return make_targets(self.problems, self.widths)

    @property
    def part(self) -> str:
        return "-".join(self.problems) + self.repeat_part

    def inputs(self) -> tuple[Input, ...]:
        sums = (whole(STATISTICS, f"{self._sums_group}/{name}") for name in sums_names(self.permutations))
        return (*sums, label_input(self.dataset), folds_input(self.dataset, self.repeats))

    def writes(self) -> tuple[Input, ...]:
        names = [f"{self.dataset}/{problem}/{name}" for problem in self.problems for name in self._array_names()]
        return tuple(map(self.statistics_written, names))

    def run(self, store: RunStore) -> Output:
        sums = self._total(store)
        labels, offsets = read_centered_labels(store, self.dataset)
        shifts = np.array(kernel_shifts(self.families))
        fold = read_folds(store, self.dataset, self.repeats)[self.repeat]
        if self.repeats > 1:  # so that the folds of this repeat are contiguous
            order = np.argsort(fold, kind="stable")
            sums, labels, fold = sums.reordered(order), labels[order], fold[order]
        bounds = fold_bounds(fold)
        numbered = self.numbered_trials()
        diagonal = [diagonals(sums, trial.train, bounds, shifts) for trial in numbered.values()]
        output = Output()
        for target in self.targets:
            columns = target.columns
            by_trial = []
            for trial, on_diagonal in zip(numbered.values(), diagonal, strict=True):
                train = statistics(sums, labels, columns, trial.train, bounds)
                test = statistics(sums, labels, columns, [trial.test], bounds)
                uncentered = uncentered_alignments(sums, labels, columns, trial.train, bounds, shifts, offsets)
                train_labels = labels[np.isin(fold, trial.train)][:, list(columns)]
                test_labels = labels[fold == trial.test][:, list(columns)]
                by_trial.append(
                    _arrays(train, test, uncentered, on_diagonal.max(axis=1), train_labels)
                    | _debiased_arrays(
                        debiased_statistics(train, centered_diagonals(sums, trial.train, bounds), train_labels),
                        debiased_statistics(test, centered_diagonals(sums, [trial.test], bounds), test_labels),
                        train.trace,
                    )
                )
            for name in by_trial[0]:
                values = np.stack([arrays[name] for arrays in by_trial])
                key = f"{self.dataset}/{target.problem}/{name}"
                output.digests |= store.write_trials(STATISTICS, key, list(numbered), values)
        # Traces and norms do not depend on the labels, so the arrays of the last problem can be used.
        if self.permutations:
            traces = [arrays["trace"] for arrays in by_trial]
            output.digests |= self._write_permuted(store, self.permutations, sums, labels, bounds, traces)
        found = [
            find_degenerate(arrays["trace"], np.diag(arrays["M"]), on_diagonal.mean(axis=1), on_diagonal.shape[1])
            for arrays, on_diagonal in zip(by_trial, diagonal, strict=True)
        ]
        numbers = list(numbered)
        output.result = DegenerateKernels(
            constant=MarkedKernels.of(np.stack([kernels.constant for kernels in found]), numbers),
            flat=MarkedKernels.of(np.stack([kernels.flat for kernels in found]), numbers),
            identity=MarkedKernels.of(np.stack([kernels.identity for kernels in found]), numbers),
        )
        return output

    @property
    def _sums_group(self) -> str:
        return f"{self.sums_groups()[self.repeat]}/{SUMS}"

    def _array_names(self) -> tuple[str, ...]:
        """Return the names of the statistics that the task writes."""
        return GRAM_STATISTICS + (PERMUTED if self.permutations else ())

    def _write_permuted(
        self,
        store: RunStore,
        permutations: Permutations,
        sums: Sums,
        labels: Floats,
        bounds: Integers,
        traces: Sequence[Floats],
    ) -> dict[str, str]:
        """Compute and store `a` for permuted labels, given the traces of each trial; return the digests."""
        fold = read_folds(store, self.dataset, self.repeats)[self.repeat]
        order = np.argsort(fold, kind="stable")  # the order of sums and labels
        orders = np.argsort(order)[permutations.orders(fold, self.repeat)[:, order]]
        name = f"{self._sums_group}/permuted"
        products = store.read(STATISTICS, name, 0)
        for number in range(1, self.batches):
            products += store.read(STATISTICS, name, number)
        digests: dict[str, str] = {}
        for target, of_target in zip(self.targets, products, strict=True):
            for (number, trial), trace in zip(self.numbered_trials().items(), traces, strict=True):
                inverse = np.divide(1.0, trace, out=np.zeros_like(trace), where=trace > 0)
                for array, folds in zip(PERMUTED, (trial.train, [trial.test]), strict=True):
                    found = permuted_products(sums, of_target, labels, orders, target.columns, folds, bounds)
                    key = f"{self.dataset}/{target.problem}/{array}"
                    digests |= store.write_trials(STATISTICS, key, [number], (found * inverse)[None])
        return digests

    def _total(self, store: RunStore) -> Sums:
        """Return the sums over all batches, added in a fixed order, so that the result is bit-for-bit reproducible."""
        batches = (
            Sums(*(store.read(STATISTICS, f"{self._sums_group}/{name}", number) for name in Sums.NAMES))
            for number in range(self.batches)
        )
        total = next(batches)
        for batch in batches:
            total += batch
        return total


def _arrays(
    train: Statistics, test: Statistics, uncentered: Floats, diagonal: Floats, labels: Floats
) -> dict[str, Floats]:
    """Return the stored arrays of one trial: `trace` and `diagonal` before scaling, the others at trace one."""
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


def _debiased_arrays(train: Statistics, test: Statistics, trace: Floats) -> dict[str, Floats]:
    """Return the stored arrays of the debiased statistics of one trial, of the same kernels as `_arrays`."""
    scaled, scaled_test = train.scaled(trace), test.scaled(trace)
    return {
        "M_debiased": scaled.M,
        "a_debiased": scaled.a,
        "M_test_debiased": scaled_test.M,
        "a_test_debiased": scaled_test.a,
        "label_norms_debiased": np.array([train.label_norm, test.label_norm]),
        "alignment_debiased": train.own_alignments(),
        "alignment_test_debiased": test.own_alignments(),
    }
