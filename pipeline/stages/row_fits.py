"""Fits stage: fit support vector machines whose kernel exceeds the memory of a fit, from rows of the kernel.

The rows are computed from the features, or from precomputed kernels, when the solver needs them. No Gram matrix and no
combined kernel is read, so the results are the same whether these are stored or not.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import NO_RESULT, failed, has_theorems
from kernel_pipeline.stages.combine import read_weights, scaled_weights
from kernel_pipeline.stages.fits import NO_WEIGHTS, CombinedCellTask
from kernel_pipeline.stages.precomputed import CachedBlocks, count_precomputed
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.learners.feature_rows import FeatureRows
from kernel_pipeline.tasks.learners.svm_rows import RowMemory, fit_svm_rows, row_moments
from kernel_pipeline.tasks.learners.svm_solver import row_parts

# Size of the cache of precomputed tiles, relative to the cache of rows; it is additional memory.
TILES_SHARE = 0.25


@dataclass(frozen=True, kw_only=True)
class RowFitTask(CombinedCellTask):
    """Fit support vector machines with one combined kernel, using working sets of samples."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Task], ...]] = (WeightsTask,)

    memory: RowMemory

    def inputs(self) -> tuple[Input, ...]:
        return tuple(dict.fromkeys((*self.combined_inputs([self.trial]), *self.data_inputs())))

    def writes(self) -> tuple[Input, ...]:
        return self.predictions_written()

    def run(self, store: RunStore) -> Output:
        weights, traces = read_weights(store, self.dataset, *self.method_key, [self.trial])
        if np.isnan(weights).any():
            return Output(result=CellResult(NO_WEIGHTS))
        split, blocks = self.split(store), self._blocks(store)
        samples = self.samples(store, blocks)
        families = fitted_families(self.families, samples)
        kernel = FeatureRows(families, samples, scaled_weights(weights, traces)[0], split.train, split.train)
        try:
            found = self._fit(kernel, split, self.largest_diagonal(store, traces[0]))
        except NO_RESULT as error:
            return failed(error)
        if blocks is not None:
            blocks.read_others()
        return Output(digests=self.write_predictions(store, split, found.path), result=found)

    def _blocks(self, store: RunStore) -> CachedBlocks | None:
        if not count_precomputed(self.families):
            return None
        samples = len(store.read(GRAM, f"{self.dataset}/fold"))
        return CachedBlocks(store, self.dataset, samples, self.tile_size, int(TILES_SHARE * self.memory.cache_bytes))

    def _fit(self, kernel: FeatureRows, split: Split, largest_diagonal: float) -> CellResult:
        fitted = fit_svm_rows(kernel, split.target[split.train], self.values, self.class_weight, self.memory)
        held_out = replace(kernel, row_samples=split.held_out)

        def blocks() -> Iterator[Floats]:
            for part in row_parts(len(split.held_out), self.memory.rows):
                yield held_out.rows(np.arange(part.start, part.stop))

        moments, offsets = None, None
        if has_theorems(split):
            moments, offsets = row_moments(kernel, split.labels[split.train], self.memory.rows)
        return self.evaluate(fitted, blocks(), split, moments, largest_diagonal, offsets)
