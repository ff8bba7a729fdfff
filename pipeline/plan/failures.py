"""Find the tasks that failed, the tasks that depend on them, and the tasks that are pending."""

from collections.abc import Mapping

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.store.reports import TaskReport


def failed_and_dependents(dataset: DatasetPlan, recorded: Mapping[str, TaskReport]) -> set[str]:
    """Return the names of the tasks that must run again to retry everything that failed."""
    known = dataset.known_tasks(recorded)
    failed = {task.name for task in known if task.name in recorded and recorded[task.name].failures}
    return failed | dataset.known_graph(recorded).first_marked(failed).keys() if failed else set()


def failures(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> dict[str, str]:
    """Return why tasks of a dataset have no outputs, by name: their own failure, or that of a task they depend on."""
    known = dataset.known_tasks(finished)
    failed = [task.name for task in known if task.name in finished and finished[task.name].failed]
    if not failed:
        return {}
    reasons = {name: finished[name].failed for name in failed}
    dependents = {
        name: f"{first}: {reasons[first]}"
        for name, first in dataset.known_graph(finished).first_marked(failed).items()
        if name not in finished
    }
    return reasons | dependents


def pending_tasks(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> set[str]:
    """Return the names of the tasks of a dataset that are not finished, and not blocked by a failed task."""
    names = {task.name for task in dataset.known_tasks(finished)}
    return names - finished.keys() - failures(dataset, finished).keys()
