"""Find the tasks that are not known in advance: those that the results of open-ended tasks request."""

from collections.abc import Iterable, Mapping

from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.reports import TaskReport


def open_ended_results(tasks: Iterable[Task], finished: Mapping[str, TaskReport]) -> dict[str, TaskResult]:
    """Return the results of the open-ended tasks that are finished and did not fail, by name."""
    return {task.name: result for task in tasks if (result := _result(task, finished)) is not None}


def with_follow_ups(tasks: Iterable[Task], finished: Mapping[str, TaskReport]) -> list[Task]:
    """Return tasks, each followed by those that its result requests.

    Follow-ups are determined again from the results in the ledger, so that a resumed run continues where it stopped.
    """
    known: list[Task] = []
    for task in tasks:
        known.append(task)
        if (result := _result(task, finished)) is not None:
            known += with_follow_ups(task.follow_up(result), finished)
    return known


def _result(task: Task, finished: Mapping[str, TaskReport]) -> TaskResult | None:
    """Return the result of an open-ended task; None for other tasks, and for those that are pending or failed."""
    if not task.is_open_ended or task.name not in finished or finished[task.name].failed:
        return None
    return task.read_result(finished[task.name].result)
