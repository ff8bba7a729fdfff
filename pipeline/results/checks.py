"""Read the results in the ledger, and check that their tasks could have written them."""

from typing import TypeVar

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.stages.kernel_results import DegenerateKernels
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.task_results import TaskResult
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.store.reports import TaskReport

R = TypeVar("R", bound=TaskResult)


def read_result(task: Task, entry: TaskReport, kind: type[R]) -> R:
    """Return the result of a finished task from its ledger entry.

    Raises
    ------
    DamagedError
        If the task could not have written it.
    """
    try:
        found = task.read_result(entry.result)
    except ValueError as error:
        raise DamagedError(f"the ledger contains an invalid result of {task.name}: {error}") from None
    if not isinstance(found, kind):
        raise TypeError(f"{task.name} has a result of type {type(found).__name__}, not {kind.__name__}")
    return found


def invalid_result_reason(dataset: DatasetPlan, task: Task, entry: TaskReport) -> str:
    """Return why the result in a ledger entry is invalid; empty if it is valid.

    A failed task has no result, so its entry is valid.
    """
    if entry.failed:
        return ""
    try:
        found = task.read_result(entry.result)
    except ValueError as error:
        return str(error)
    if isinstance(found, DegenerateKernels) and not found.has_valid_indices(len(dataset.kernels)):
        return "the result names kernels that do not exist"
    return ""
