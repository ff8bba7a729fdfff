"""Weights: one solve a method and trial, from the statistics alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.store import STATISTICS, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.arrays import Floats
from tasks.statistics import Statistics, alignment
from tasks.weights import RULES, NoWeightsError


@dataclass(frozen=True, kw_only=True)
class WeightsTask(Task):
    """The weights of one cell."""

    stage: ClassVar[str] = "weights"
    version: ClassVar[int] = 1

    task: str
    method: str
    trial: int

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.trial}"

    def run(self, store: RunStore) -> Output:
        train, test = self._statistics(store, "", 0), self._statistics(store, "_test", 1)
        try:
            mu, certificate = RULES[self.method](train)
        except NoWeightsError:
            mu, certificate = np.zeros_like(train.a), 0.0  # the fit makes it a row that says so
        group = f"{self.dataset}/{self.task}"
        output = Output(
            result={
                "certificate": certificate,
                "alignment_train": alignment(train, mu),
                "alignment_test": alignment(test, mu),
                "n_kernels": len(mu),
                "n_active": int((mu > 0).sum()),
            }
        )
        output.digests |= store.write_trial(WEIGHTS, f"{group}/{self.method}", self.trial, mu)
        output.digests |= store.write_trial(WEIGHTS, f"{group}/certificate/{self.method}", self.trial, certificate)
        return output

    def _statistics(self, store: RunStore, suffix: str, norm: int) -> Statistics:
        """The statistics of the kernels scaled to trace one on the training set, there or on the test fold."""

        def read(name: str) -> Floats:
            return np.asarray(store.read(STATISTICS, f"{self.dataset}/{self.task}/{name}", self.trial))

        return Statistics(
            M=read(f"M{suffix}"),
            a=read(f"a{suffix}"),
            trace=(read("trace") > 0).astype(np.float64),
            label_norm=float(read("label_norms")[norm]),
        )
