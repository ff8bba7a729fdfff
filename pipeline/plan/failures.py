"""Tasks that failed, and the tasks that depend on them."""

from collections.abc import Iterable, Mapping

from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.stages.task import STAGES, Task
from kernel_pipeline.store.reports import Finished


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
