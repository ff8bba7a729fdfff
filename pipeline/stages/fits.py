"""Fits: one task a cell, with its whole regularisation path, and what is measured of it."""

from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from pipeline.stages.combine import CombineTask, read_combined
from pipeline.store import DATA, GRAM, WEIGHTS, RunStore
from pipeline.task import Output, Task
from tasks.folds import trials
from tasks.paths import fit_path
from tasks.ridge import NotPositiveDefiniteError
from tasks.svm import NotConvergedError
from tasks.weights import NoWeightsError


@dataclass(frozen=True, kw_only=True)
class FitTask(Task):
    """The fits of one cell: dataset x task x method x trial."""

    stage: ClassVar[str] = "fits"
    version: ClassVar[int] = 1
    reads: ClassVar[tuple[type[Task], ...]] = (CombineTask,)

    task: str
    task_index: int
    method: str
    trial: int
    values: tuple[float, ...]

    @property
    def part(self) -> str:
        return f"{self.task}/{self.method}/{self.trial}"

    def run(self, store: RunStore) -> Output:
        mu = store.read(WEIGHTS, f"{self.dataset}/{self.task}/{self.method}", self.trial)
        if not mu.any():
            return Output(result={"status": f"failed: {NoWeightsError()}"})
        fold = store.read(GRAM, f"{self.dataset}/fold")
        trial = trials(int(fold[-1]) + 1)[self.trial]
        try:
            path = fit_path(
                self.task,
                read_combined(store, self.dataset, self.task, self.method, self.trial),
                store.read(DATA, f"{self.dataset}/targets")[:, self.task_index],
                np.flatnonzero(np.isin(fold, trial.train)),
                np.flatnonzero(fold == trial.validation),
                np.flatnonzero(fold == trial.test),
                self.values,
            )
        except (NotPositiveDefiniteError, NotConvergedError) as error:
            return Output(result={"status": f"failed: {error}"})
        return Output(result={"status": "ok", "path": asdict(path)})
