"""Fits stage: fit each cell of a two-stage method along its whole regularisation path."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed, fit_kernel, fit_signed_kernel, theorems_of
from kernel_pipeline.stages.combine import CombineTask, read_weights, scaled_weights
from kernel_pipeline.stages.final_fits import FinalFitTask
from kernel_pipeline.stages.matrices import assemble, assemble_trial
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tile_sources import CombinedTiles, StoredTiles, TileSource
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import COMBINED, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.centering import center_rows
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.paths import evaluate_fits
from kernel_pipeline.tasks.statistics.alignment import alignment_predictor
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments

# If `K(x, x)` is at most R^2, then `K_c(x, x)` of the centered kernel, the squared distance of a feature vector from
# a mean of feature vectors, is at most 4 R^2.
CENTERED_DIAGONAL = 4.0
# Status of a cell whose weights task failed; that task reports the reason.
NO_WEIGHTS = "failed: there are no weights"


@dataclass(frozen=True, kw_only=True)
class CombinedCellTask(CellTask, GramTask):
    """A task that fits one combined kernel along its regularisation path."""

    values: tuple[float, ...]
    class_weight: str | None = None

    def combined_inputs(self, trials: Sequence[int]) -> tuple[Input, ...]:
        """Return the labels and folds, the weights of some trials, and what the theorems need, as inputs."""
        group = f"{self.dataset}/{self.problem}"
        return (
            *self.split_inputs(),
            trials_of(WEIGHTS, f"{group}/{self.method_id}", trials),
            trials_of(STATISTICS, f"{group}/trace", trials),
            trials_of(STATISTICS, f"{group}/diagonal", [self.trial]),
        )

    def largest_diagonal(self, store: RunStore, trace: Floats) -> float:
        """Return a bound on `K_k(x, x)` of the centered base kernels, scaled to trace one."""
        diagonal = store.read(STATISTICS, f"{self.dataset}/{self.problem}/diagonal", self.trial)
        varies = trace > 0
        return float((CENTERED_DIAGONAL * diagonal[varies] / trace[varies]).max())

    def evaluate(
        self,
        fitted: FittedPath,
        blocks: Iterable[Floats],
        split: Split,
        moments: KernelMoments | None,
        largest_diagonal: float,
        offsets: Floats | None = None,
    ) -> CellResult:
        """Evaluate the fits of a kernel that is not in memory, and the theorems for it.

        Parameters
        ----------
        blocks
            Kernel of the held-out samples against the training samples, in blocks of rows, which are overwritten.
        moments
            Moments of the centered kernel, without predictions for test samples; None if there are no theorems.
        largest_diagonal
            Bound on `K_k(x, x)` of the base kernels, scaled to trace one.
        offsets
            Offsets with which the rows are centered after the predictions; None if they are already centered.
        """
        predicted: list[Floats] = []

        def observed() -> Iterator[Floats]:
            for rows in blocks:
                yield rows
                if moments is None:
                    continue
                if offsets is not None:
                    center_rows(rows, offsets)
                predicted.append(alignment_predictor(moments.norm, rows, split.labels[split.train]))

        path = evaluate_fits(
            self.problem, fitted, observed(), split, FitOptions(self.values, self.metrics, self.metric)
        )
        found = CellResult(path=path.in_units(split.unit))
        if moments is None:
            return found
        moments = replace(moments, predicted=np.concatenate(predicted)[len(split.validation) :])
        return replace(found, theorems=theorems_of(self.problem, moments, split, path, largest_diagonal))


@dataclass(frozen=True, kw_only=True)
class FitTask(FinalFitTask, CombinedCellTask):
    """Fit one combined kernel, which is held in memory."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 7
    reads: ClassVar[tuple[type[Task], ...]] = (CombineTask,)

    trials: tuple[int, ...] = ()
    """Consecutive trials, including this one, whose kernels are combined together if they are not stored."""

    @property
    def kernel_prefix(self) -> str:
        """Return the prefix of the keys of the combined kernel of this cell, which no other task reads."""
        return f"{COMBINED}/{self.dataset}/{self.problem}/{self.method_id}/c/{self.trial}/"

    def inputs(self) -> tuple[Input, ...]:
        stored = trials_of(COMBINED, f"{self.dataset}/{self.problem}/{self.method_id}", [self.trial])
        kernel = self.data_inputs() if self.recompute else (stored,)
        return tuple(dict.fromkeys((*self.combined_inputs(self.trials or (self.trial,)), *kernel)))

    def writes(self) -> tuple[Input, ...]:
        return self.predictions_written()

    def run(self, store: RunStore) -> Output:
        group, trials = f"{self.dataset}/{self.problem}", self.trials or (self.trial,)
        weights, traces = read_weights(store, self.dataset, *self.method_key, trials)
        row = trials.index(self.trial)
        mu, trace = weights[row], traces[row]
        if np.isnan(mu).any():
            return Output(result=CellResult(NO_WEIGHTS))
        if self.recompute:
            tiles: TileSource = CombinedTiles(self.base_tiles(store), scaled_weights(weights, traces), row)
        else:
            tiles = StoredTiles(store, COMBINED, f"{group}/{self.method_id}", self.trial)
        split, largest_diagonal = self.split(store), self.largest_diagonal(store, trace)
        signed = bool((mu < 0).any())

        def fit(samples: Split, values: tuple[float, ...]) -> CellResult:
            # The kernel has trace one on the training set. For a larger set it is divided by the ratio of the sizes,
            # so that the regularisation per sample is the same.
            return self._fit(tiles, samples, values, signed, largest_diagonal, len(samples.train) / len(split.train))

        try:
            found = self.with_final_cell(fit(split, self.values), split, fit)
        except NO_RESULT as error:
            return failed(error)
        return Output(digests=self.write_predictions(store, split, found.path), result=found)

    def _fit(
        self,
        tiles: TileSource,
        split: Split,
        values: tuple[float, ...],
        signed: bool,
        largest_diagonal: float,
        divisor: float,
    ) -> CellResult:
        options = FitOptions(values, self.metrics, self.metric, self.class_weight)
        if signed:
            kernel = assemble(tiles, len(split.target), self.tile_size) / divisor
            return fit_signed_kernel(self.problem, kernel, split, options)
        trial_kernel = assemble_trial(tiles, split, self.tile_size)
        if divisor != 1.0:
            trial_kernel = trial_kernel.divided(divisor)
        return fit_kernel(self.problem, trial_kernel, split, options, largest_diagonal)
