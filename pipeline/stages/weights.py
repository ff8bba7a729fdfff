"""Weights: one solve a method and trial, from the statistics alone."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pipeline.stages.reduce import ReduceTask
from pipeline.store import STATISTICS, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.arrays import Floats
from tasks.statistics import Statistics, alignment
from tasks.weights import RULES, NoWeightsError

# Up to so many kernels a solve takes milliseconds, and one task takes all trials.
KERNELS_OF_A_SHORT_SOLVE = 1000


def trial_batches(trials: int, kernels: int) -> list[tuple[int, ...]]:
    """Which trials a task of this stage takes together."""
    if kernels <= KERNELS_OF_A_SHORT_SOLVE:
        return [tuple(range(trials))]
    return [(trial,) for trial in range(trials)]


@dataclass(frozen=True, kw_only=True)
class WeightsTask(Task):
    """The weights of one method, for consecutive trials."""

    stage: ClassVar[str] = "weights"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Task], ...]] = (ReduceTask,)

    task: str
    method: str
    trials: tuple[int, ...]

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.trials[0]}-{self.trials[-1]}"

    def run(self, store: RunStore) -> Output:
        solved = [self._solve(*statistics) for statistics in self._statistics(store)]
        group = f"{self.dataset}/{self.task}"
        certificates = [result["certificate"] for _, result in solved]
        output = Output(result={"trials": {str(t): result for t, (_, result) in zip(self.trials, solved, strict=True)}})
        output.digests |= store.write_trials(WEIGHTS, f"{group}/{self.method}", self.trials, [mu for mu, _ in solved])
        output.digests |= store.write_trials(WEIGHTS, f"{group}/certificate/{self.method}", self.trials, certificates)
        return output

    def _solve(self, train: Statistics, test: Statistics) -> tuple[Floats, dict[str, Any]]:
        try:
            mu, certificate = RULES[self.method](train)
        except NoWeightsError:
            mu, certificate = np.zeros_like(train.a), 0.0  # the fit makes it a row that says so
        return mu, {
            "certificate": certificate,
            "alignment_train": alignment(train, mu),
            "alignment_test": alignment(test, mu),
            "n_kernels": len(mu),
            "n_active": int((mu > 0).sum()),
        }

    def _statistics(self, store: RunStore) -> list[tuple[Statistics, Statistics]]:
        """By trial, of the kernels scaled to trace one on the training set: there, and on the test fold."""
        chosen = slice(self.trials[0], self.trials[-1] + 1)
        names = ("M", "a", "M_test", "a_test", "trace", "label_norms")
        arrays = [store.read(STATISTICS, f"{self.dataset}/{self.task}/{name}", chosen) for name in names]
        return [
            (
                Statistics(M, a, (trace > 0).astype(np.float64), float(norms[0])),
                Statistics(M_test, a_test, (trace > 0).astype(np.float64), float(norms[1])),
            )
            for M, a, M_test, a_test, trace, norms in zip(*arrays, strict=True)
        ]
