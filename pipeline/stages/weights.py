"""Weights: one solve a method and trial, from the statistics alone."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pipeline.store import STATISTICS, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.arrays import Floats
from tasks.statistics import Statistics
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
        stats = read_statistics(store, self.dataset, self.task, self.trial)
        try:
            mu, certificate = RULES[self.method](stats)
        except NoWeightsError:
            mu, certificate = np.zeros_like(stats.a), 0.0  # the fit makes it a row that says so
        group = f"{self.dataset}/{self.task}"
        output = Output(result={"certificate": certificate})
        output.digests |= store.write_trial(WEIGHTS, f"{group}/{self.method}", self.trial, mu)
        output.digests |= store.write_trial(WEIGHTS, f"{group}/certificate/{self.method}", self.trial, certificate)
        return output


def read_statistics(store: RunStore, dataset: str, task: str, trial: int, on: str = "train") -> Statistics:
    """The statistics of the kernels scaled to trace one on the training set; `on` is "train" or "test"."""
    group, suffix = f"{dataset}/{task}", "" if on == "train" else "_test"

    def read(name: str) -> Floats:
        return np.asarray(store.read(STATISTICS, f"{group}/{name}", trial))

    return Statistics(
        M=read(f"M{suffix}"),
        a=read(f"a{suffix}"),
        trace=(read("trace") > 0).astype(np.float64),
        label_norm=float(read("label_norms")[0 if on == "train" else 1]),
        uncentered=read("uncentered"),
    )
