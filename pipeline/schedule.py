"""Which tasks may run now: the stages of a dataset follow each other, datasets do not wait for one another."""

from collections import deque
from collections.abc import Container, Mapping, Sequence

from pipeline.plan import DatasetPlan, Plan
from pipeline.task import STAGES, Finished, Task

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
        self._failed: dict[str, list[Task]] = {name: [] for name in self._stages}
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
            errands: dict[str, Errand] = {}
            stage = stages.popleft()
            self._failed[dataset].extend(task for task in stage if task.name in self._set_aside)
            for task in stage:
                if task.name not in self._done and not blocking(task, self._failed[dataset]):
                    errands[task.errand] = (*errands.get(task.errand, ()), task)
            self._open[dataset] = len(errands)
            self._ready.extend(errands.values())


def blocking(task: Task, failed: Sequence[Task]) -> Task | None:
    """The failed task of the same dataset that a task builds on, if there is one."""
    return next(
        (
            other
            for other in failed
            if STAGES.index(other.stage) < STAGES.index(task.stage) and other.cell in (None, task.cell)
        ),
        None,
    )


def failed_and_what_builds_on_it(dataset: DatasetPlan, recorded: Mapping[str, Finished]) -> set[str]:
    """The names of tasks that have to run for all that failed to be tried again."""
    failed = [task for task in dataset.tasks if task.name in recorded and recorded[task.name].failures]
    built_on = {task.name for task in dataset.tasks if blocking(task, failed)}
    return {task.name for task in failed} | built_on


def failures(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> dict[str, str]:
    """Why tasks of a dataset have no outputs, by name: their own failure, or that of what they build on."""
    failed = [task for task in dataset.tasks if task.name in finished and finished[task.name].failed]
    reasons = {task.name: finished[task.name].failed for task in failed}
    for task in dataset.tasks:
        if task.name not in finished and (first := blocking(task, failed)):
            reasons[task.name] = f"{first.name}: {reasons[first.name]}"
    return reasons
