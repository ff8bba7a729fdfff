"""Weights: one solve per two-stage method and trial, from the statistics alone."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from kernel_pipeline.stages.cells import NO_RESULT, alignments, measured, weights_written
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.statistics import read_statistics, statistics_inputs
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.stages.tiles import GramTask
from kernel_pipeline.store.arrays import WEIGHTS, RunStore
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.statistics.statistics import Statistics, alignment
from kernel_pipeline.tasks.weights.gram_evidence import GramEvidence
from kernel_pipeline.tasks.weights.rules import RULES, Rule, align_q

# Up to so many kernels a solve takes milliseconds, and one task takes all trials.
KERNELS_OF_A_SHORT_SOLVE = 1000


def trial_batches(trials: int, kernels: int) -> list[tuple[int, ...]]:
    """Which trials a task of this stage takes together."""
    if kernels <= KERNELS_OF_A_SHORT_SOLVE:
        return [tuple(range(trials))]
    return [(trial,) for trial in range(trials)]


def find_rule(method: str, q: float | None) -> Rule:
    """Return the rule of a method; `q` is that of `align`, where it is given."""
    return RULES[method] if q is None else partial(align_q, q=q)


@dataclass(frozen=True, kw_only=True)
class WeightsTask(GramTask):
    """The weights of one method, for consecutive trials."""

    stage: ClassVar[str] = "weights"
    version: ClassVar[int] = 2
    reads: ClassVar[tuple[type[Task], ...]] = (ReduceTask,)

    task: str
    method: str
    q: float | None
    trials: tuple[int, ...]

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.trials[0]}-{self.trials[-1]}"

    @property
    def cell(self) -> tuple[str, str]:
        return self.task, self.method

    def inputs(self) -> tuple[Input, ...]:
        return statistics_inputs(self.dataset, self.task, self.trials)

    def writes(self) -> tuple[Input, ...]:
        return weights_written(f"{self.dataset}/{self.task}", self.method, self.trials)

    def run(self, store: RunStore) -> Output:
        statistics = read_statistics(store, self.dataset, self.task, self.trials)
        solved = [self._solve(train, test) for train, test in statistics]
        group = f"{self.dataset}/{self.task}"
        certificates = [result["certificate"] for _, result in solved]  # None becomes NaN
        output = Output(result={"trials": {str(t): result for t, (_, result) in zip(self.trials, solved, strict=True)}})
        output.digests |= store.write_trials(WEIGHTS, f"{group}/{self.method}", self.trials, [mu for mu, _ in solved])
        output.digests |= store.write_trials(WEIGHTS, f"{group}/certificate/{self.method}", self.trials, certificates)
        return output

    def _solve(self, train: Statistics, test: Statistics) -> tuple[Floats, dict[str, Any]]:
        try:
            mu, certificate = find_rule(self.method, self.q)(GramEvidence(train))
        except NO_RESULT as error:
            mu = np.full_like(train.a, np.nan)  # the fit then has nothing to do
            return mu, {"certificate": None, "n_kernels": len(mu), "status": f"failed: {error}"}
        if (mu < 0).any():  # the fit reports the alignment of the positive part, which is what it fits
            return mu, measured(mu, certificate)
        return mu, measured(mu, certificate) | alignments(alignment(train, mu), alignment(test, mu))
