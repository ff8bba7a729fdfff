"""Notes about results: grid edges, degenerate kernels, classes that nothing tells apart."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import DatasetPlan, Plan
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.store.reports import OK, Finished

# What is said of kernels that `reduce` has found; the names of its results.
DEGENERATE = {
    "constant": "kernels are constant on a training set; their weight there is 0",
    "flat": "kernels are constant up to rounding on a training set; what is left of them acts like a linear kernel",
    "identity": "kernels are, once centered, the identity up to rounding on a training set: no two samples resemble "
    "each other more than others",
}
# A value at the edge in one trial may be chance.
MIN_TRIALS_AT_EDGE = 2


def result_notes(plan: Plan, finished: Mapping[str, Finished]) -> list[Note]:
    """Return what a user should know about the results of a sweep."""
    notes: list[Note] = []
    for dataset in plan.datasets:
        notes += _degenerate_kernels(dataset, finished)
        notes += _cell_notes(dataset, plan.config.fit, finished)
    return notes


def _degenerate_kernels(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> Iterator[Note]:
    for task in dataset.stages["reduce"]:
        result = finished[task.name].result if task.name in finished else {}
        for kind, meaning in DEGENERATE.items():
            found = result.get(kind, {"count": 0, "first": []})
            if found["count"]:
                yield Note(
                    dataset.name, f"{found['count']:,} of {len(dataset.kernels):,} {meaning}: " + _named(dataset, found)
                )


def _named(dataset: DatasetPlan, found: dict[str, Any]) -> str:
    """List the first kernels, each with its trials."""
    named = [
        f"{dataset.kernels[kernel]} ({'every trial' if len(trials) == dataset.folds else _trials(trials)})"
        for kernel, trials in found["first"]
    ]
    more = found["count"] - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _trials(numbers: list[int]) -> str:
    return f"trial {', '.join(map(str, numbers))}"


def _cell_notes(dataset: DatasetPlan, fit: Fit, finished: Mapping[str, Finished]) -> Iterator[Note]:
    """Yield the notes about the paths of a dataset's cells."""
    paths: dict[tuple[str, str], list[dict[str, Any]]] = {cell: [] for cell in dataset.cells}
    methods = {task.method_id: task.method for task in dataset.tasks if isinstance(task, CellTask)}
    for task in dataset.tasks:
        done = finished.get(task.name)
        if done and isinstance(task, CellTask) and task.cell in paths and (result := done.result).get("status") == OK:
            paths[task.cell].append(result)
    for (task_name, method), results in paths.items():
        if sum(result["at_edge"] for result in results) >= MIN_TRIALS_AT_EDGE:
            grid = fit.grid_name(task_name, methods[method])
            yield Note(dataset.name, _at_edge(grid, results, dataset.folds), task_name, method)
    for task_name in dataset.tasks_learned:
        found = [
            result["path"]["majority_only"]
            for (name, _), results in paths.items()
            if name == task_name
            for result in results
        ]
        if found and all(found):
            yield Note(
                dataset.name,
                "every method predicts the majority class of the training set for all test samples, in every trial; "
                "each error is the share of the other class",
                task_name,
            )


def _at_edge(grid: str, results: list[dict[str, Any]], folds: int) -> str:
    values = [result["path"]["values"][result["path"]["best"]][-1] for result in results if result["at_edge"]]
    found = " and ".join(f"{value:g}" for value in sorted(set(values)))
    return (
        f"the regularisation value is at the edge of its grid in {len(values)} of {folds} trials ({found}); widen "
        f"[fit] {grid}"
    )


COLUMNS = ("dataset", "task", "method", "note")


def note_table(notes: Sequence[Note]) -> pd.DataFrame:
    """Return the notes as rows of `notes.csv`."""
    return pd.DataFrame([[getattr(note, name) for name in COLUMNS] for note in notes], columns=list(COLUMNS))
