"""Which tasks may run now: the stages of a dataset follow each other, datasets do not wait for one another."""

from collections import deque
from collections.abc import Container

from kernel_pipeline.plan.failures import Failed
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.task import STAGES, Task

Errand = tuple[Task, ...]
"""Tasks that go to a worker together."""


class Schedule:
    """The order of errands: `take` gives one that may run, `finish` says that one is done.

    Parameters
    ----------
    done
        Names of tasks that need not run.
    set_aside
        Those of them that failed: what builds on them cannot run.
    """

    def __init__(self, plan: Plan, done: Container[str], set_aside: Container[str] = ()) -> None:
        self._done, self._set_aside = done, set_aside
        self._ready: deque[Errand] = deque()
        self._stages = {
            dataset.name: deque(tuple(dataset.stages[stage]) for stage in STAGES) for dataset in plan.datasets
        }
        self._open = dict.fromkeys(self._stages, 0)
        self._failed = {name: Failed() for name in self._stages}
        for dataset in self._stages:
            self._advance(dataset)

    def take(self) -> Errand | None:
        """Tasks whose inputs are there, or None if all such tasks are taken."""
        return self._ready.popleft() if self._ready else None

    def split(self, errand: Errand) -> list[Errand]:
        """Let the tasks of an errand that was taken go their own ways; each has to be finished on its own."""
        self._open[errand[0].dataset] += len(errand) - 1
        return [(task,) for task in errand]

    def finish(self, errand: Errand, failed: bool = False) -> None:
        """Say that an errand is done, or that it failed and what builds on it cannot run."""
        dataset = errand[0].dataset
        if failed:
            self._failed[dataset].extend(errand)
        self._open[dataset] -= 1
        self._advance(dataset)

    def _advance(self, dataset: str) -> None:
        """Once a stage is done, make the tasks of the next one ready that still have to run, and can."""
        stages = self._stages[dataset]
        while not self._open[dataset] and stages:
            errands: dict[str, list[Task]] = {}
            stage, failed = stages.popleft(), self._failed[dataset]
            failed.extend(task for task in stage if task.name in self._set_aside)
            for task in stage:
                if task.name not in self._done and not failed.blocking(task):
                    errands.setdefault(task.errand, []).append(task)
            self._open[dataset] = len(errands)
            self._ready.extend(map(tuple, errands.values()))
