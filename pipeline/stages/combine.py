"""Combine: one pass over the stored tiles builds `K_mu` of all methods and trials.

The tiles hold `E_k = K_k - shift_k`, and the combined kernels are `sum_k mu_k E_k`: centering removes the shifts, and
`K` itself would lose the digits of kernels that are close to a constant.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import TileBatchTask, TilesTask, tile_slices
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import COMBINED, GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input, tiles_of, trials_of
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.method import WeightRule


@dataclass(frozen=True, kw_only=True)
class CombineTask(TileBatchTask):
    """Compute a batch of tiles of the combined kernels of one method, for consecutive trials.

    A task takes the trials of one task of the weights, so that a failure there affects no other trials.
    """

    stage: ClassVar[str] = "combine"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Task], ...]] = (TilesTask, WeightsTask)

    problem: str
    method: WeightRule
    trials: tuple[int, ...]

    @property
    def part(self) -> str:
        trial = f"/{self.trials[0]}" if len(self.trials) == 1 else ""  # else it takes all trials
        return f"{self.problem}/{self.method.method_id}/{self.number}{trial}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.problem, self.method.method_id

    @property
    def batch_key(self) -> str:
        return f"{self.stage}/{self.dataset}/{self.number}"

    def inputs(self) -> tuple[Input, ...]:
        return (
            tiles_of(f"{self.dataset}/gram", self.tiles),
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
        """Read each tile once for all methods; methods are combined separately, so none changes another's bits."""
        first = tasks[0]
        samples = store.array(GRAM, f"{first.dataset}/gram").shape[1]
        weights = [task._weights(store) for task in tasks]
        outputs = [Output() for _ in tasks]
        for tile in first.tiles:
            values = store.read(GRAM, f"{first.dataset}/gram", (slice(None), *tile_slices(tile, first.tile, samples)))
            for task, weight, output in zip(tasks, weights, outputs, strict=True):
                kernels = (weight @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:])
                for trial, kernel in zip(task.trials, kernels, strict=True):
                    output.digests |= store.write_chunk(COMBINED, task._name, (trial, *tile), kernel[None])
        return outputs

    @property
    def _name(self) -> str:
        return f"{self.dataset}/{self.problem}/{self.method.method_id}"

    def _weights(self, store: RunStore) -> Floats:
        """Return the weights of the stored kernels that give `K_mu` trace one, (trials, p); 0 for a failed solve."""
        chosen = slice(self.trials[0], self.trials[-1] + 1)
        mu = np.nan_to_num(store.read(WEIGHTS, self._name, chosen, undefined=True), nan=0.0)
        trace = store.read(STATISTICS, f"{self.dataset}/{self.problem}/trace", chosen)
        return np.asarray(np.divide(mu, trace, out=np.zeros_like(mu), where=trace > 0))
