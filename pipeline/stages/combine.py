"""Combine stage: compute `K_mu` of all methods and trials in one pass over the stored tiles.

The tiles contain `E_k = K_k - shift_k`, and the combined kernels are `sum_k mu_k E_k`. Centering removes the shifts;
storing `K_k` itself would lose precision for kernels that are close to a constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tile_sources import combine_tile
from kernel_pipeline.stages.tiles import TileBatchTask, TilesTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import COMBINED, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, tiles_of, trials_of
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.method import WeightRule


@dataclass(frozen=True, kw_only=True)
class CombineTask(TileBatchTask):
    """Compute a batch of tiles of the combined kernels of one method, for consecutive trials.

    A task covers the trials of one `WeightsTask`, so that a failure of that task does not affect other trials.
    """

    stage: ClassVar[str] = "combine"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, WeightsTask)

    problem: str
    method: WeightRule
    trials: tuple[int, ...]

    @property
    def part(self) -> str:
        trial = f"/{self.trials[0]}" if len(self.trials) == 1 else ""  # otherwise the task covers a whole repeat
        if len(self.trials) > 1 and self.repeats > 1:
            trial = f"/{self.trials[0]}-{self.trials[-1]}"
        return f"{self.problem}/{self.method.method_id}/{self.number}{trial}"

    @property
    def method_key(self) -> tuple[str, str]:
        return self.problem, self.method.method_id

    @property
    def batch_key(self) -> str:
        return f"{self.stage}/{self.data_group}/{self.number}"

    def inputs(self) -> tuple[Input, ...]:
        return (
            tiles_of(f"{self.data_group}/gram", self.tiles),
            trials_of(WEIGHTS, self._name, self.trials),
            trials_of(STATISTICS, f"{self.dataset}/{self.problem}/trace", self.trials),
        )

    def writes(self) -> tuple[Input, ...]:
        return (trials_of(COMBINED, self._name, self.trials),)

    def run(self, store: RunStore) -> Output:
        (output,) = self.run_together([self], store)
        return output

    @classmethod
    def run_together(cls, tasks: Sequence[Self], store: RunStore) -> list[Output]:
        """Read each tile once for all tasks; combine it separately for each, as rounding may depend on the others."""
        first = tasks[0]
        base = first.base_tiles(store)
        weights = [scaled_weights(*read_weights(store, task.dataset, *task.method_key, task.trials)) for task in tasks]
        outputs = [Output() for _ in tasks]
        for tile in first.tiles:
            values = base.read(tile)
            for task, weight, output in zip(tasks, weights, outputs, strict=True):
                for trial, kernel in zip(task.trials, combine_tile(weight, values), strict=True):
                    output.digests |= store.write_chunk(COMBINED, task._name, (trial, *tile), kernel[None])
        return outputs

    @property
    def _name(self) -> str:
        return f"{self.dataset}/{self.problem}/{self.method.method_id}"


def read_weights(
    store: RunStore, dataset: str, problem: str, method: str, trials: Sequence[int]
) -> tuple[Floats, Floats]:
    """Read the weights of a method, which are NaN for a failed solve, and the traces of consecutive trials."""
    chosen = slice(trials[0], trials[-1] + 1)
    mu = store.read(WEIGHTS, f"{dataset}/{problem}/{method}", chosen, allow_nan=True)
    return mu, store.read(STATISTICS, f"{dataset}/{problem}/trace", chosen)


def scaled_weights(mu: Floats, trace: Floats) -> Floats:
    """Return the weights of the unscaled kernels in `K_mu`, (trials, p); 0 for a failed solve."""
    return np.asarray(np.divide(np.nan_to_num(mu, nan=0.0), trace, out=np.zeros_like(mu), where=trace > 0))
