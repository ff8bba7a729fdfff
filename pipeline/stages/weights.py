"""Weights: one solve per two-stage method and trial, from the statistics alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.cell_results import Alignments, TrialWeights, WeightsResult
from kernel_pipeline.stages.cells import NO_RESULT, weights_written
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.statistics import read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment
from kernel_pipeline.tasks.weights.gram_evidence import GramEvidence
from kernel_pipeline.tasks.weights.method import WeightRule

# With up to this many kernels a solve takes milliseconds, and one task solves for all trials.
MAX_KERNELS_ALL_TRIALS = 1000


def trial_batches(trials: int, kernels: int) -> list[tuple[int, ...]]:
    """Return the trials that one task handles together."""
    if kernels <= MAX_KERNELS_ALL_TRIALS:
        return [tuple(range(trials))]
    return [(trial,) for trial in range(trials)]


@dataclass(frozen=True, kw_only=True)
class WeightsTask(GramTask):
    """Determine the weights of one method, for consecutive trials."""

    stage: ClassVar[str] = "weights"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (ReduceTask,)
    result_type: ClassVar[type[TaskResult]] = TrialWeights

    problem: str
    method: WeightRule
    trials: tuple[int, ...]

    @property
    def method_id(self) -> str:
        """Name of the method in tables and arrays."""
        return self.method.method_id

    @property
    def part(self) -> str:
        return f"{self.problem}/{self.method_id}/{self.trials[0]}-{self.trials[-1]}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.problem, self.method_id

    def inputs(self) -> tuple[Input, ...]:
        return statistics_inputs(self.dataset, self.problem, self.trials)

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.problem}", self.method_id, self.trials)

    def run(self, store: RunStore) -> Output:
        statistics = read_statistics(store, self.dataset, self.problem, self.trials)
        solved = [self._solve(train, test) for train, test in statistics]
        group = f"{self.dataset}/{self.problem}"
        certificates = [result.certificate for _, result in solved]  # None becomes NaN
        output = Output(result=TrialWeights(dict(zip(self.trials, (result for _, result in solved), strict=True))))
        output.digests |= store.write_trials(
            WEIGHTS, f"{group}/{self.method_id}", self.trials, [mu for mu, _ in solved]
        )
        name = f"{group}/certificate/{self.method_id}"
        output.digests |= store.write_trials(WEIGHTS, name, self.trials, certificates)
        return output

    def read_result(self, value: object) -> TaskResult:
        found = TrialWeights.from_json(value)
        if sorted(found.trials) != sorted(self.trials):
            raise ValueError(f"the result: 'trials' are {sorted(found.trials)}, and should be {sorted(self.trials)}")
        return found

    def _solve(self, train: Statistics, test: Statistics) -> tuple[Floats, WeightsResult]:
        try:
            mu, certificate = self.method.weights(GramEvidence(train))
        except NO_RESULT as error:
            mu = np.full_like(train.a, np.nan)  # the fit then has nothing to do
            return mu, WeightsResult(n_kernels=len(mu), status=f"failed: {error}")
        if (mu < 0).any():  # the fit reports the alignment of the positive part, which is what it fits
            return mu, WeightsResult.of(mu, certificate)
        aligned = Alignments.of(alignment(train, mu), alignment(test, mu))
        return mu, WeightsResult.of(mu, certificate, aligned)
