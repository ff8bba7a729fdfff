"""Combine: one pass over the stored tiles builds `K_mu` of all methods and trials.

The tiles are of `E_k = K_k - shift_k`, and so are their combinations `sum_k mu_k E_k`: centering takes the shifts away,
and `K` itself would lose the digits of wide kernels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import TileBatchTask, TilesTask, tile_slices
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import COMBINED, GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, tiles_of, whole
from kernel_pipeline.tasks.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class CombineTask(TileBatchTask):
    """Computes a batch of tiles of the combined kernels of one method, for all trials."""

    stage: ClassVar[str] = "combine"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, WeightsTask)

    task: str
    method: str

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.number}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.task, self.method

    @property
    def batch_key(self) -> str:
        return f"{self.stage}/{self.dataset}/{self.number}"

    def inputs(self) -> tuple[Input, ...]:
        return (
            tiles_of(f"{self.dataset}/gram", self.tiles),
            whole(WEIGHTS, self._name),
            whole(STATISTICS, f"{self.dataset}/{self.task}/trace"),
        )

    def writes(self) -> tuple[Input, ...]:
        return (whole(COMBINED, self._name),)

    def run(self, store: RunStore) -> Output:
        (output,) = self.run_together([self], store)
        return output

    @classmethod
    def run_together(cls, tasks: Sequence[Self], store: RunStore) -> list[Output]:
        """Read each tile once, for all methods; each is combined on its own, so that others change no bit of it."""
        first = tasks[0]
        samples = store.array(GRAM, f"{first.dataset}/gram").shape[1]
        weights = [task._weights(store) for task in tasks]
        outputs = [Output() for _ in tasks]
        for tile in first.tiles:
            values = store.read(GRAM, f"{first.dataset}/gram", (slice(None), *tile_slices(tile, first.tile, samples)))
            for task, weight, output in zip(tasks, weights, outputs, strict=True):
                kernels = (weight @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
                for trial, kernel in enumerate(kernels):
                    output.digests |= store.write_chunk(COMBINED, task._name, (trial, *tile), kernel[None])
        return outputs

    @property
    def _name(self) -> str:
        return f"{self.dataset}/{self.task}/{self.method}"

    def _weights(self, store: RunStore) -> Floats:
        """(trials, p): weights of the kernels as stored, so that `K_mu` has trace one; 0 for a failed solve."""
        mu = np.nan_to_num(store.read(WEIGHTS, self._name, undefined=True), nan=0.0)
        trace = store.read(STATISTICS, f"{self.dataset}/{self.task}/trace")
        return np.asarray(np.divide(mu, trace, out=np.zeros_like(mu), where=trace > 0))
