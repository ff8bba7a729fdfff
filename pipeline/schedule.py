"""Which tasks may run now: the stages of a dataset follow each other, datasets do not wait for one another."""

from collections import deque
from collections.abc import Container, Iterable, Mapping

from pipeline.plan import DatasetPlan, Plan
from pipeline.task import STAGES, Finished, Task

Errand = tuple[Task, ...]
"""Tasks that go to a worker together."""


class Failed:
    """Tasks of one dataset that failed, to be asked what builds on them; the same time for any number of them."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._first: dict[tuple[str, tuple[str, str] | None], tuple[int, Task]] = {}
        """The first that failed of each stage and cell, and how many entries there were before it."""
        self.extend(tasks)

    def extend(self, tasks: Iterable[Task]) -> None:
        """Add tasks that failed later."""
        for task in tasks:
            self._first.setdefault((task.stage, task.cell), (len(self._first), task))

    def blocking(self, task: Task) -> Task | None:
        """The first failed task that a task of the dataset builds on, if there is one."""
        before = STAGES[: STAGES.index(task.stage)]
        found = [self._first.get((stage, cell)) for stage in before for cell in {None, task.cell}]
        return min(filter(None, found), default=(0, None), key=lambda entry: entry[0])[1]


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


def failed_and_what_builds_on_it(dataset: DatasetPlan, recorded: Mapping[str, Finished]) -> set[str]:
    """The names of tasks that have to run for all that failed to be tried again."""
    failed = [task for task in dataset.tasks if task.name in recorded and recorded[task.name].failures]
    blockers = Failed(failed)
    built_on = {task.name for task in dataset.tasks if blockers.blocking(task)}
    return {task.name for task in failed} | built_on


def failures(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> dict[str, str]:
    """Why tasks of a dataset have no outputs, by name: their own failure, or that of what they build on."""
    failed = [task for task in dataset.tasks if task.name in finished and finished[task.name].failed]
    reasons, blockers = {task.name: finished[task.name].failed for task in failed}, Failed(failed)
    for task in dataset.tasks:
        if task.name not in finished and (first := blockers.blocking(task)):
            reasons[task.name] = f"{first.name}: {reasons[first.name]}"
    return reasons
