"""Result tables, rebuilt each time from the ledger and the store, in an order that nothing changes."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import DatasetPlan, Plan
from kernel_pipeline.results.kernel_tables import correlation_table, joined, kernel_table
from kernel_pipeline.results.notes import note_table, result_notes
from kernel_pipeline.results.stored_tables import read_table
from kernel_pipeline.results.summary import MEASURES
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.one_stage import EachKernelTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.paths import RESULTS, TABLE_FILES
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.store.storage import Root
from kernel_pipeline.tasks.learners.paths import METRICS
from kernel_pipeline.text import spreadsheet_safe

TABLES_VERSION = 2
"""Raised when the tables change for the same results."""

ROWS = f"{RESULTS}/rows.csv"
CORRELATION = f"{RESULTS}/correlation.csv"
CORRELATION_COLUMNS = ("dataset", "task", "kernels", "centered", "uncentered")
KEYS = ("dataset", "task", "method", "trial")
ROW_COLUMNS = (
    *KEYS,
    "error",
    "metric",
    "validation_error",
    "alignment_test",
    "alignment_train",
    "regularisation",
    "n_kernels",
    "n_active",
    "certificate",
    "at_edge",
    "status",
)
WORDS = ("metric", "status")
# Columns in which a failed cell leaves a gap.
WITH_GAPS = {"n_kernels": "Int64", "n_active": "Int64", "at_edge": "boolean"}
PATH_COLUMNS = (
    *KEYS,
    "gamma",
    "gamma1",
    "regularisation",
    "train_error",
    "validation_error",
    "test_error",
    "certificate",
)
BOUND_COLUMNS = (
    *KEYS,
    "alignment_train",
    "predictor_error",
    "theorem12_evaluated",
    "theorem13_evaluated",
    "theorem14_evaluated",
    "theorem17_evaluated",
)


def write_tables(root: Root, store: RunStore, plan: Plan, finished: dict[str, Finished]) -> pd.DataFrame:
    """Write rows, path, bounds, kernels, correlation, notes and timings.

    Returns
    -------
    The rows: one per dataset, task, method and trial.
    """
    frames: list[tuple[pd.DataFrame, pd.DataFrame]] = []

    def paths() -> Iterator[bytes]:  # the largest table by far
        for dataset in plan.datasets:
            cells, path, theorems = _cells(dataset, finished)
            yield _csv(path, header=not frames)
            frames.append((cells, theorems))

    root.write(f"{RESULTS}/path.csv", paths())
    rows, bounds = map(joined, zip(*frames, strict=True))
    kernels = [kernel_table(store, dataset, finished) for dataset in plan.datasets]
    timings = [
        {"task": task.name, "seconds": done.seconds, "peak_memory_bytes": done.peak_memory}
        for task in plan.tasks
        if (done := finished.get(task.name))
    ]
    tables = {
        "rows": rows,
        "bounds": bounds,
        "kernels": joined(kernels),
        "notes": note_table([*plan.notes(), *result_notes(plan, finished)]),
        "timings": pd.DataFrame(timings),
    }
    if (correlation := correlation_table(tables["kernels"])) is not None:
        tables["correlation"] = correlation
    else:
        root.remove(CORRELATION)  # of an earlier config
    root.write(f"{RESULTS}/rows.parquet", rows.to_parquet(index=False))
    for name, written in tables.items():
        root.write(f"{RESULTS}/{name}.csv", _csv(written))
    return rows


def table_digests(root: Root) -> dict[str, str]:
    """The digests of all result tables, by key; files that others put beside them are not among them."""
    return {key: digest for key, digest in root.digests(TABLE_FILES).items() if digest}


def read_rows(root: Root) -> pd.DataFrame:
    """The rows of a run, as its table has them."""
    rows = read_table(root, ROWS, (*KEYS, *MEASURES, *WORDS), WITH_GAPS)
    return rows[rows["metric"].isin(METRICS.values())]


def read_correlation(root: Root) -> pd.DataFrame | None:
    """The correlation table of a run, if it has one."""
    return read_table(root, CORRELATION, CORRELATION_COLUMNS) if root.exists(CORRELATION) else None


def _cells(dataset: DatasetPlan, finished: dict[str, Finished]) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Rows, path and bounds of a dataset: frames take a tenth of the memory of what tasks report."""
    weights, failed = _weights(dataset, finished), failures(dataset, finished)
    rows: list[dict[str, Any]] = []
    paths: list[dict[str, Any]] = []
    bounds: list[dict[str, Any]] = []
    for task in dataset.tasks:
        if isinstance(task, CellTask) and not isinstance(task, EachKernelTask):
            reason = failed.get(task.name)
            result = {"status": reason} if reason else finished[task.name].result
            row = _row(task, weights.get(task.part, {}), result)
            rows.append(row)
            paths.extend(_path(row))
            bounds.extend(_bounds(row))
    return _frame(rows, ROW_COLUMNS).astype(WITH_GAPS), _frame(paths, PATH_COLUMNS), _frame(bounds, BOUND_COLUMNS)


def _frame(rows: list[dict[str, Any]], columns: tuple[str, ...]) -> pd.DataFrame:
    """Columns of one type each, also where a dataset has no number in one of them."""
    found = pd.DataFrame(rows, columns=list(columns))
    numbers = [name for name in columns if name not in (*KEYS, *WORDS, *WITH_GAPS)]
    return found.astype(dict.fromkeys(numbers, float))


def _csv(table: pd.DataFrame, header: bool = True) -> bytes:
    for name in [str(name) for name in table if not pd.api.types.is_numeric_dtype(table[name])]:
        texts = [text for text in table[name].unique() if isinstance(text, str)]  # few, for many cells
        unsafe = {text: safe for text in texts if (safe := spreadsheet_safe(text)) != text}
        if unsafe:
            table = table.assign(**{name: [unsafe.get(text, text) for text in table[name]]})
    return str(table.to_csv(index=False, header=header, lineterminator="\n")).encode()


def _weights(dataset: DatasetPlan, finished: dict[str, Finished]) -> dict[str, dict[str, Any]]:
    """What the weights stage found for each cell, by the part that names the cell's fit."""
    return {
        f"{task.problem}/{task.method_id}/{trial}": result
        for task in dataset.of(WeightsTask)
        if task.name in finished
        for trial, result in finished[task.name].result.get("trials", {}).items()
    }


def _row(task: CellTask, weights: dict[str, Any], result: dict[str, Any]) -> dict[str, Any]:
    """The row of a cell, with all that its task found: cells that learn weights and fits at once bring both."""
    row = {
        "dataset": task.dataset,
        "task": task.problem,
        "method": task.method_id,
        "trial": task.trial,
        "metric": METRICS[task.problem],
        **result.get("weights", {}),
        **result,
        **weights,
    }
    if (path := result.get("path")) is not None:
        best = path["best"]
        row |= {
            "error": path["test_errors"][best],
            "validation_error": path["validation_errors"][best],
            "regularisation": path["values"][best][-1],
        }
    return row


def _path(row: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a cell's path; the last parameter is the one that rows call regularisation."""
    path = row.get("path")
    if path is None:
        return []
    key = {name: row[name] for name in KEYS}
    certificates = path["certificates"] or [None] * len(path["values"])
    columns = zip(
        path["values"],
        path["train_errors"],
        path["validation_errors"],
        path["test_errors"],
        certificates,
        strict=True,
    )
    return [
        {
            **key,
            **dict(zip(("gamma", "gamma1"), value[:-1], strict=False)),
            "regularisation": value[-1],
            "train_error": train,
            "validation_error": validation,
            "test_error": test,
            "certificate": certificate,
        }
        for value, train, validation, test, certificate in columns
    ]


def _bounds(row: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the theorems evaluated for a cell's kernel: of two-stage methods without negative weights."""
    theorems = {
        f"{name}_evaluated" if name.startswith("theorem") else name: value
        for name, value in row.get("theorems", {}).items()
    }
    return [{**row, **theorems}] if theorems else []
