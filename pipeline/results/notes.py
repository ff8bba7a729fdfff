"""Notes about results: grid edges, degenerate kernels, classes that nothing tells apart."""

from collections.abc import Iterator, Mapping, Sequence

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import DatasetPlan, Plan
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.store.reports import OK, Finished
from kernel_pipeline.tasks.learners.paths import PathResult

DEGENERATE = {
    "constant": "kernels are constant on a training set; their weight there is 0",
    "flat": "kernels are constant up to rounding on a training set; what is left of them acts like a linear kernel",
    "identity": "kernels are, once centered, the identity up to rounding on a training set: no two samples resemble "
    "each other more than others",
}
"""Text about each kind of degenerate kernels."""
MIN_TRIALS_AT_EDGE = 2
"""Number of trials from which on a value at the edge is noted; in one trial it may be chance."""


def result_notes(plan: Plan, finished: Mapping[str, Finished]) -> list[Note]:
    """Return what a user should know about the results of a sweep."""
    notes: list[Note] = []
    for dataset in plan.datasets:
        notes += _degenerate_kernels(dataset, finished)
        notes += _cell_notes(dataset, plan.config.fit, finished)
    return notes


def _degenerate_kernels(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> Iterator[Note]:
    for task in dataset.stages["reduce"]:
        entry = finished.get(task.name)
        if entry is None or entry.failed:
            continue
        result = read_result(task, entry, DegenerateKernels)
        for kind, meaning in DEGENERATE.items():
            found: MarkedKernels = getattr(result, kind)
            if found.count:
                text = f"{found.count:,} of {len(dataset.kernels):,} {meaning}: {_named(dataset, task, found)}"
                yield Note(dataset.name, text)


def _named(dataset: DatasetPlan, task: Task, found: MarkedKernels) -> str:
    """List the first kernels, each with its trials."""
    if any(kernel >= len(dataset.kernels) for kernel, _ in found.first):
        raise DamagedError(f"the ledger holds a result of {task.name} that names kernels which do not exist")
    named = [
        f"{dataset.kernels[kernel]} ({'every trial' if len(trials) == dataset.folds else _trials(trials)})"
        for kernel, trials in found.first
    ]
    more = found.count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _trials(numbers: Sequence[int]) -> str:
    return f"trial {', '.join(map(str, numbers))}"


def _cell_notes(dataset: DatasetPlan, fit: Fit, finished: Mapping[str, Finished]) -> Iterator[Note]:
    """Yield the notes about the paths of a dataset's cells."""
    paths: dict[tuple[str, str], list[PathResult]] = {cell: [] for cell in dataset.cells}
    methods = {task.method_id: task.method for task in dataset.tasks if isinstance(task, CellTask)}
    for task in dataset.tasks:
        entry = finished.get(task.name)
        if entry and not entry.failed and isinstance(task, CellTask) and task.result_type is CellResult:
            result = read_result(task, entry, CellResult)
            if result.status == OK and result.path:
                paths[task.cell].append(result.path)
    for (task_name, method), found in paths.items():
        if sum(path.at_edge for path in found) >= MIN_TRIALS_AT_EDGE:
            grid = fit.grid_name(task_name, methods[method])
            yield Note(dataset.name, _at_edge(grid, found, dataset.folds), task_name, method)
    for task_name in dataset.tasks_learned:
        flags = [path.majority_only for (name, _), found in paths.items() if name == task_name for path in found]
        if flags and all(flags):
            yield Note(
                dataset.name,
                "every method predicts the majority class of the training set for all test samples, in every trial; "
                "each error is the share of the other class",
                task_name,
            )


def _at_edge(grid: str, paths: Sequence[PathResult], folds: int) -> str:
    values = [path.values[path.best][-1] for path in paths if path.at_edge]
    found = " and ".join(f"{value:g}" for value in sorted(set(values)))
    return (
        f"the regularisation value is at the edge of its grid in {len(values)} of {folds} trials ({found}); widen "
        f"[fit] {grid}"
    )
