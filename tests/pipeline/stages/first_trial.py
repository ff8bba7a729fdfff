"""Run the first trial of a sweep in this process, and compare what its tasks read with what they declare."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import PREDICTIONS, RunStore
from kernel_pipeline.store.digests import is_chunk
from kernel_pipeline.store.inputs import InputDigests
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from kernel_pipeline.tasks.arrays import Floats
from tests.helpers.sweeps import plan_in


@dataclass
class Fitted:
    """The plan of a dataset, and what the fit of the first trial of its only method has found."""

    plan: DatasetPlan
    tasks: list[Task]
    """The tasks of the cell, including those that were requested."""
    result: CellResult
    predictions: Floats


def fit_first_trial(root: Path, values: dict[str, Any], number: int = 0) -> Fitted:
    """Plan a sweep of one dataset, problem and method, and run its first trial, or the one with the given number."""
    plan, _ = plan_in(root, parse_config(values, "a test"))
    (dataset,) = plan.datasets
    done: list[Task] = []
    for task in dataset.tasks:
        if isinstance(task, CellTask):
            if task.trial == number:
                report = _run(root, task, done)
        else:
            run_tasks([task], RunStore(LocalStorage(root)))
    assert isinstance(task, CellTask)
    result = done[-1].read_result(report.result)
    assert isinstance(result, CellResult)
    assert result.status == "ok"
    name = f"{dataset.name}/{task.problem}/{task.method_id}"
    predictions = RunStore(LocalStorage(root)).read(PREDICTIONS, name, number, allow_nan=True)
    return Fitted(dataset, done, result, predictions)


def _run(root: Path, task: Task, done: list[Task]) -> TaskReport:
    """Run a task and what it requests; return its report."""
    keys = [str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()]
    digests = InputDigests()
    digests.add(LocalStorage(root).digests([key for key in keys if is_chunk(key)]))
    (report,) = run_tasks([task], RunStore(LocalStorage(root)), [digests.of(task)])
    done.append(task)
    for requested in task.follow_up(task.read_result(report.result)) if task.is_open_ended else ():
        _run(root, requested, done)
    return report
