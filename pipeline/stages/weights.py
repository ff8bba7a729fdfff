"""Weights stage: determine the weights of each two-stage method and trial from the statistics."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import TrialWeights, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, weights_written, write_weights
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.statistics import ScaledStatistics, read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics
from kernel_pipeline.tasks.weights.method import WeightRule

# Up to this number of kernels, a solve takes about a second or less, and one task solves for all trials of a repeat.
MAX_KERNELS_ALL_TRIALS = 1000


def trial_batches(trials: int, kernels: int, per_trial: bool = False, repeats: int = 1) -> list[tuple[int, ...]]:
    """Divide the trials into batches, one per task; all trials of a batch belong to the same repeat.

    Parameters
    ----------
    trials
        Number of trials of all repeats.
    per_trial
        Whether each trial has its own Gram matrices.
    """
    if kernels <= MAX_KERNELS_ALL_TRIALS and not per_trial:
        size = trials // repeats
        return [tuple(range(first, first + size)) for first in range(0, trials, size)]
    return [(trial,) for trial in range(trials)]


@dataclass(frozen=True, kw_only=True)
class WeightsTask(GramTask):
    """Determine the weights of one method, for consecutive trials."""

    stage: ClassVar[str] = "weights"
    version: ClassVar[int] = 3
    reads: ClassVar[tuple[type[Task], ...]] = (ReduceTask,)
    result_type: ClassVar[type[TaskResult]] = TrialWeights

    problem: str
    method: WeightRule
    trials: tuple[int, ...]

    @property
    def method_id(self) -> str:
        """Return the name of the method in tables and arrays."""
        return self.method.method_id

    @property
    def part(self) -> str:
        return f"{self.problem}/{self.method_id}/{self.trials[0]}-{self.trials[-1]}"

    @property
    def method_key(self) -> tuple[str, str]:
        return self.problem, self.method_id

    def inputs(self) -> tuple[Input, ...]:
        return statistics_inputs(self.dataset, self.problem, self.trials, self.permutations is not None)

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.problem}", self.method_id, self.trials)

    def run(self, store: RunStore) -> Output:
        permuted = self.permutations is not None
        statistics = read_statistics(store, self.dataset, self.problem, self.trials, permuted)
        solved = [self._solve(trial) for trial in statistics]
        group = f"{self.dataset}/{self.problem}"
        weights, results = zip(*solved, strict=True)
        certificates = [result.certificate for result in results]
        return Output(
            digests=write_weights(store, group, self.method_id, self.trials, weights, certificates),
            result=TrialWeights(dict(zip(self.trials, results, strict=True))),
        )

    def read_result(self, value: object) -> TaskResult:
        found = TrialWeights.from_json(value)
        if sorted(found.trials) != sorted(self.trials):
            raise ValueError(f"the result: 'trials' are {sorted(found.trials)}; they must be {sorted(self.trials)}")
        return found

    def _solve(self, statistics: ScaledStatistics) -> tuple[Floats, WeightsResult]:
        try:
            mu, certificate = self.method.weights(GramStatistics(statistics.train))
        except NO_RESULT as error:
            mu = np.full_like(statistics.train.a, np.nan)  # a fit with NaN weights reports that there are no weights
            return mu, WeightsResult(n_kernels=len(mu), status=f"failed: {error}")
        if (mu < 0).any():  # the fit uses the positive part of the kernel, and reports its alignment
            return mu, WeightsResult.of(mu, certificate)
        return mu, WeightsResult.of(mu, certificate, statistics.alignments(mu))
