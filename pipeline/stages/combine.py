"""Combine: one pass over the stored tiles builds `K_mu` of all methods and trials."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.stages.tiles import TileBatchTask, TilesTask, tile_slices
from pipeline.stages.weights import WeightsTask
from pipeline.store import COMBINED, GRAM, STATISTICS, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.arrays import Floats


@dataclass(frozen=True, kw_only=True)
class CombineTask(TileBatchTask):
    """Computes a batch of tiles of the combined kernels."""

    stage: ClassVar[str] = "combine"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, WeightsTask)

    cells: tuple[tuple[str, str], ...]
    """(task, method) of the kernels to build, each for all trials."""

    def run(self, store: RunStore) -> Output:
        weights = np.concatenate([self._weights(store, task, method) for task, method in self.cells])
        samples = store.array(GRAM, f"{self.dataset}/gram").shape[1]
        output = Output()
        for tile in self.tiles:
            values = store.read(GRAM, f"{self.dataset}/gram", (slice(None), *tile_slices(tile, self.tile, samples)))
            combined = (weights @ values.reshape(len(values), -1)).reshape(len(self.cells), -1, *values.shape[1:])
            for (task, method), kernels in zip(self.cells, combined, strict=True):
                for trial, kernel in enumerate(kernels):
                    output.digests |= store.write_chunk(
                        COMBINED, f"{self.dataset}/{task}/{method}", (trial, *tile), kernel[None]
                    )
        return output

    def _weights(self, store: RunStore, task: str, method: str) -> Floats:
        """(trials, p): weights of the kernels as they are stored, so that `K_mu` has trace one."""
        mu = store.read(WEIGHTS, f"{self.dataset}/{task}/{method}")
        trace = store.read(STATISTICS, f"{self.dataset}/{task}/trace")
        return np.asarray(np.divide(mu, trace, out=np.zeros_like(mu), where=trace > 0))
