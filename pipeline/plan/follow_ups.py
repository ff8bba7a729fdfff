"""Find the tasks that are not known in advance: those that the results of open-ended tasks request."""

from collections.abc import Iterable, Mapping

from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.reports import TaskReport


def with_follow_ups(tasks: Iterable[Task], finished: Mapping[str, TaskReport]) -> list[Task]:
    """Return tasks, each followed by those that its result requests.

    Follow-ups are determined again from the results in the ledger, so that a resumed run continues where it stopped.
    """
    known: list[Task] = []
    for task in tasks:
        known.append(task)
        if task.is_open_ended and task.name in finished and not finished[task.name].failed:
            known += with_follow_ups(task.follow_up(finished[task.name].result), finished)
    return known
