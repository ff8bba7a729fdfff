"""Check the results that the ledger holds against the tasks that should have written them."""

from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.stages.kernel_results import DegenerateKernels
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.reports import Finished


def result_problem(dataset: DatasetPlan, task: Task, entry: Finished) -> str:
    """Return why a task cannot have written the result of its ledger entry; empty if it can.

    The entry of a task that failed has no result.
    """
    if entry.failed:
        return ""
    try:
        found = task.read_result(entry.result)
    except ValueError as error:
        return str(error)
    if isinstance(found, DegenerateKernels):
        kinds = (found.constant, found.flat, found.identity)
        if any(kernel >= len(dataset.kernels) for marked in kinds for kernel, _ in marked.first):
            return "the result names kernels that do not exist"
    return ""
