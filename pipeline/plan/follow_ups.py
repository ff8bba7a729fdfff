"""Tasks that are not known in advance: those that the results of open-ended tasks ask for."""

from collections.abc import Iterable, Mapping

from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.reports import Finished


def with_follow_ups(tasks: Iterable[Task], finished: Mapping[str, Finished]) -> list[Task]:
    """Return tasks, each followed by those that its result asks for.

    Follow-ups are determined again from the results in the ledger, so that a resumed run continues where it stopped.
    """
    known: list[Task] = []
    for task in tasks:
        known.append(task)
        if task.is_open_ended and task.name in finished and not finished[task.name].failed:
            known += with_follow_ups(task.follow_up(finished[task.name].result), finished)
    return known
