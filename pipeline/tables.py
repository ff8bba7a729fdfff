"""Result tables, rebuilt each time from the ledger and the store, in an order that nothing changes."""

from pathlib import Path
from typing import Any

import pandas as pd

from pipeline.files import write_whole
from pipeline.layout import RESULTS
from pipeline.plan import DatasetPlan, Plan
from pipeline.stages.fits import FitTask
from pipeline.stages.weights import WeightsTask
from pipeline.store import STATISTICS, RunStore
from pipeline.task import Finished
from tasks.paths import METRICS

ROW_COLUMNS = (
    "dataset",
    "task",
    "method",
    "trial",
    "error",
    "metric",
    "validation_error",
    "alignment_test",
    "alignment_train",
    "regularisation",
    "n_kernels",
    "n_active",
    "certificate",
    "status",
)
COUNTS = {"n_kernels": "Int64", "n_active": "Int64"}


def write_tables(root: Path, plan: Plan, finished: dict[str, Finished]) -> pd.DataFrame:
    """Write rows, path, kernels and timings.

    Returns
    -------
    The rows: one a dataset, task, method and trial.
    """
    rows, paths = [], []
    for dataset in plan.datasets:
        weights = _weights(dataset, finished)
        for task in dataset.of(FitTask):
            row, path = _cell(task, weights[task.part], finished)
            rows.append(row)
            paths.extend(path)
    table = pd.DataFrame(rows, columns=list(ROW_COLUMNS)).astype(COUNTS)
    kernels = [row for dataset in plan.datasets for row in _kernels(RunStore(root), dataset)]
    timings = [
        {"task": task.name, "seconds": done.seconds, "peak_memory_bytes": done.peak_memory}
        for task in plan.tasks
        for done in [finished[task.name]]
    ]
    results = root / RESULTS
    results.mkdir(exist_ok=True)
    write_whole(results / "rows.csv", _csv(table))
    write_whole(results / "rows.parquet", table.to_parquet(index=False))
    for name, records in (("path", paths), ("kernels", kernels), ("timings", timings)):
        write_whole(results / f"{name}.csv", _csv(pd.DataFrame(records)))
    return table


def read_rows(root: Path) -> pd.DataFrame:
    """The rows of a run, as its table has them."""
    return pd.read_csv(root / RESULTS / "rows.csv", dtype=COUNTS)


def _weights(dataset: DatasetPlan, finished: dict[str, Finished]) -> dict[str, dict[str, Any]]:
    """What the weights stage found for each cell, by the part that names the cell's fit."""
    return {
        f"{task.task}/{task.method}/{trial}": result
        for task in dataset.of(WeightsTask)
        for trial, result in finished[task.name].result["trials"].items()
    }


def _cell(
    task: FitTask, weights: dict[str, Any], finished: dict[str, Finished]
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The row of a fit task, and the rows of its path."""
    result = finished[task.name].result
    key = {"dataset": task.dataset, "task": task.task, "method": task.method, "trial": task.trial}
    row = {**key, "metric": METRICS[task.task], **weights, **result}
    path = result.get("path")
    if path is None:
        return row, []
    best = path["best"]
    row |= {
        "error": path["test_errors"][best],
        "validation_error": path["validation_errors"][best],
        "regularisation": path["values"][best],
    }
    columns = zip(path["values"], path["validation_errors"], path["test_errors"], strict=True)
    return row, [
        {**key, "regularisation": value, "validation_error": validation, "test_error": test}
        for value, validation, test in columns
    ]


def _kernels(store: RunStore, dataset: DatasetPlan) -> list[dict[str, Any]]:
    """A row a base kernel and trial."""
    rows = []
    for task in dataset.tasks_learned:
        train, test, uncentered = (
            store.read(STATISTICS, f"{dataset.name}/{task}/{array}")
            for array in ("alignment", "alignment_test", "uncentered")
        )
        rows += [
            {
                "dataset": dataset.name,
                "task": task,
                "trial": trial,
                "kernel": kernel,
                "alignment_train": train[trial, k],
                "alignment_test": test[trial, k],
                "uncentered_alignment_train": uncentered[trial, k],
            }
            for trial in range(dataset.folds)
            for k, kernel in enumerate(dataset.kernels)
        ]
    return rows


def _csv(table: pd.DataFrame) -> str:
    return str(table.to_csv(index=False, lineterminator="\n"))
