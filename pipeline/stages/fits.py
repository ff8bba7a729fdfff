"""Fits: one task per cell of a two-stage method, with its whole regularisation path."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cells import NO_RESULT, CellTask, failed, fit_kernel
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.matrices import read_symmetric
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import COMBINED, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, trials_of
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.kernels.gaussian import LARGEST_CENTERED


@dataclass(frozen=True, kw_only=True)
class FitTask(CellTask, GramTask):
    """The fits of one combined kernel."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Task], ...]] = (CombineTask,)

    values: tuple[float, ...]

    def inputs(self) -> tuple[Input, ...]:
        group, trial = f"{self.dataset}/{self.task}", (self.trial,)
        return (
            *self.split_inputs(),
            trials_of(WEIGHTS, f"{group}/{self.method}", trial),
            trials_of(STATISTICS, f"{group}/trace", trial),
            trials_of(COMBINED, f"{group}/{self.method}", trial),
        )

    def writes(self) -> tuple[Input, ...]:
        return ()

    def run(self, store: RunStore) -> Output:
        group = f"{self.dataset}/{self.task}"
        mu = store.read(WEIGHTS, f"{group}/{self.method}", self.trial, undefined=True)
        if np.isnan(mu).any():
            return Output(result={"status": "failed: there are no weights"})  # the weights task reports why
        trace = store.read(STATISTICS, f"{group}/trace", self.trial)
        kernel = read_symmetric(store, COMBINED, f"{group}/{self.method}", self.trial)
        largest = LARGEST_CENTERED / float(trace[trace > 0].min())
        try:
            found = fit_kernel(
                self.task, kernel, self.split(store), self.values, signed=bool((mu < 0).any()), largest=largest
            )
        except NO_RESULT as error:
            return failed(error)
        return Output(result={"status": OK, **found})
