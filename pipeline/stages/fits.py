"""Fits: one task per cell of a two-stage method, with its whole regularisation path."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed, fit_kernel
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.matrices import read_symmetric
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import COMBINED, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of

# If `K(x, x)` is at most R^2, then `K_c(x, x)` of the centered kernel, the squared distance of a feature vector from
# a mean of feature vectors, is at most 4 R^2.
CENTERED_DIAGONAL = 4.0


@dataclass(frozen=True, kw_only=True)
class FitTask(CellTask, GramTask):
    """Fit one combined kernel along its regularisation path."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 4
    reads: ClassVar[tuple[type[Task], ...]] = (CombineTask,)

    values: tuple[float, ...]

    def inputs(self) -> tuple[Input, ...]:
        group, trial = f"{self.dataset}/{self.problem}", (self.trial,)
        return (
            *self.split_inputs(),
            trials_of(WEIGHTS, f"{group}/{self.method_id}", trial),
            trials_of(STATISTICS, f"{group}/trace", trial),
            trials_of(STATISTICS, f"{group}/diagonal", trial),
            trials_of(COMBINED, f"{group}/{self.method_id}", trial),
        )

    def writes(self) -> tuple[Input, ...]:
        return ()

    def run(self, store: RunStore) -> Output:
        group = f"{self.dataset}/{self.problem}"
        mu = store.read(WEIGHTS, f"{group}/{self.method_id}", self.trial, undefined=True)
        if np.isnan(mu).any():
            return Output(result=CellResult("failed: there are no weights"))  # the weights task reports why
        trace = store.read(STATISTICS, f"{group}/trace", self.trial)
        kernel = read_symmetric(store, COMBINED, f"{group}/{self.method_id}", self.trial)
        diagonal = store.read(STATISTICS, f"{group}/diagonal", self.trial)
        varies = trace > 0
        largest = float((CENTERED_DIAGONAL * diagonal[varies] / trace[varies]).max())
        try:
            found = fit_kernel(
                self.problem,
                kernel,
                self.split(store),
                self.values,
                metrics=self.metrics,
                signed=bool((mu < 0).any()),
                largest=largest,
            )
        except NO_RESULT as error:
            return failed(error)
        return Output(result=found)
