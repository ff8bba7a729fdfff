"""Create the notes about results, such as values at grid edges, degenerate kernels and alignments at chance level."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.notes import Note
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.cells import dataset_cells
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.results.grid_notes import accuracy, excluded_values, values_at_edge
from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.kernel_results import DegenerateKernels, MarkedKernels
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.store.reports import OK, TaskReport
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.weights.method import Method

DEGENERATE = {
    "constant": "kernels are constant on a training set; their weight there is 0",
    "flat": "kernels are constant up to rounding on a training set; the remaining variation acts like a linear kernel",
    "identity": "kernels are the identity up to rounding on a training set, after centering (all pairs of samples are "
    "equally similar)",
}
"""Texts of the notes about degenerate kernels, by kind."""
MIN_TRIALS_AT_EDGE = 2
"""Minimum number of trials with a value at the edge for a note; a single trial may be due to chance."""


def result_notes(plan: Plan, finished: Mapping[str, TaskReport]) -> list[Note]:
    """Return the notes about the results of a sweep."""
    notes: list[Note] = []
    for dataset in plan.datasets:
        notes += _degenerate_kernels(dataset, finished)
        notes += _cell_notes(dataset, plan.config.fit, finished)
        notes += _null_notes(dataset, finished) if plan.config.protocol.permutations else []
    return notes


def _degenerate_kernels(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> Iterator[Note]:
    results = [
        _checked_kernels(dataset, task, read_result(task, entry, DegenerateKernels))
        for task in dataset.stages["reduce"]
        if (entry := finished.get(task.name)) and not entry.failed
    ]
    for kind, meaning in DEGENERATE.items() if results else ():
        found = MarkedKernels.merged([getattr(result, kind) for result in results])
        if found.count:
            up_to = "up to " if found.count > found.most else ""
            families = _families(dataset, [kernel for kernel, _ in found.first])
            fix = f"; {_fix(family.wider() for family in families)}" if kind == "identity" else ""
            text = f"{up_to}{found.most:,} of {len(dataset.kernels):,} {meaning}: {_named(dataset, found)}{fix}"
            if kind == "constant" and found.most == len(dataset.kernels):
                text += f"; {_fix(family.narrower() for family in dataset.families)}"
            yield Note(dataset.name, text)


def _families(dataset: DatasetPlan, kernels: Sequence[int]) -> list[GramFamily]:
    """Return the families to which some of the kernels belong; none for a rank-one family."""
    of_kernel = [family for family in dataset.families for _ in family.names()]
    return [of_kernel[kernel] for kernel in kernels] if of_kernel else []


def _fix(changes: Iterable[str]) -> str:
    """Return what to do about degenerate kernels, given a change of a parameter of each family, if there is one.

    >>> _fix(["a smaller gamma", "", "a smaller gamma"]), _fix([""])
    ('choose a smaller gamma, or other kernels', 'choose other kernels')
    """
    known = [change for change in dict.fromkeys(changes) if change]
    return f"choose {', '.join(known)}, or other kernels" if known else "choose other kernels"


def _checked_kernels(dataset: DatasetPlan, task: Task, result: DegenerateKernels) -> DegenerateKernels:
    """Return the result of a task after checking that all kernels that it names exist."""
    if not result.has_valid_indices(len(dataset.kernels)):
        raise DamagedError(f"the ledger contains an invalid result of {task.name}: it names kernels that do not exist")
    return result


def _named(dataset: DatasetPlan, found: MarkedKernels) -> str:
    """List the first kernels, each with its trials."""
    named = [
        f"{dataset.kernels[kernel]} ({'every trial' if len(trials) == dataset.trials else _trials(dataset, trials)})"
        for kernel, trials in found.first
    ]
    more = found.count - len(named)
    return ", ".join(named) + (f" and {more:,} more" if more else "")


def _trials(dataset: DatasetPlan, numbers: Sequence[int]) -> str:
    if dataset.repeats > 1:
        return f"{len(numbers)} of {dataset.trials} trials"
    return f"trial {', '.join(map(str, numbers))}"


def _cell_notes(dataset: DatasetPlan, fit: Fit, finished: Mapping[str, TaskReport]) -> Iterator[Note]:
    """Yield the notes about the paths of a dataset's cells."""
    paths: dict[tuple[str, str], list[PathResult]] = {key: [] for key in dataset.method_keys}
    methods = {task.method_id: task.method for task in dataset.tasks if isinstance(task, CellTask)}
    for task in dataset.tasks:
        entry = finished.get(task.name)
        if entry and not entry.failed and isinstance(task, CellTask) and task.result_type is CellResult:
            result = read_result(task, entry, CellResult)
            if result.status == OK and result.path:
                paths[task.method_key].append(result.path)
    for (problem, method), found in paths.items():
        known = methods[method]
        if text := excluded_values(fit.grids(problem, known), *accuracy(problem, known), found, dataset.trials):
            yield Note(dataset.name, text, problem, method)
        is_constant = known.is_regularised and len(found) == dataset.trials and _is_majority(found)
        # All regularisation values for which only the majority class is predicted have the same error, so that a value
        # at the edge is no reason for a wider grid. Other metrics, such as auc, may depend on the decision values.
        if is_constant and not fit.metric_name(problem):
            continue
        if sum(path.at_edge for path in found) >= MIN_TRIALS_AT_EDGE:
            yield Note(dataset.name, values_at_edge(fit.grids(problem, known), found, dataset.trials), problem, method)
    for problem in dataset.problems:
        yield from _majority_notes(dataset, fit, problem, _regularised(paths, problem, methods))


def _regularised(
    paths: Mapping[tuple[str, str], list[PathResult]], problem: str, methods: Mapping[str, Method]
) -> dict[str, list[PathResult]]:
    """Return the paths of a problem by method, without methods that do not use the features."""
    return {
        method: found for (known, method), found in paths.items() if known == problem and methods[method].is_regularised
    }


def _is_majority(paths: Sequence[PathResult]) -> bool:
    """Return whether there are fits, and all of them predict only the majority class."""
    return bool(paths) and all(path.majority_only for path in paths)


def _majority_notes(
    dataset: DatasetPlan, fit: Fit, problem: str, learned: Mapping[str, list[PathResult]]
) -> Iterator[Note]:
    """Yield one note if all methods predict only the majority class, and otherwise one for each method that does."""
    share = f"; each error is the share of the other class{'es' if len(dataset.info.classes) > 2 else ''}"
    text = "the majority class of the training set for all test samples, in every trial"
    text += "" if fit.metric_name(problem) else share
    if _is_majority([path for found in learned.values() for path in found]):
        yield Note(dataset.name, f"every method predicts {text}", problem)
        return
    for method, found in learned.items():
        if len(found) == dataset.trials and _is_majority(found):
            yield Note(dataset.name, f"the method predicts {text}", problem, method)


def _null_notes(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> Iterator[Note]:
    """Yield the notes about alignments that do not exceed their 95 % quantile for permuted labels."""
    within: dict[tuple[str, str], int] = {}
    known = {task.name for task in dataset.tasks} & finished.keys()
    for cell in dataset_cells(dataset, finished) if len(known) == len(dataset.tasks) else ():
        within[cell.task.method_key] = within.get(cell.task.method_key, 0) + cell.alignments.is_within_null
    for (problem, method), count in within.items():
        if count:
            text = (
                "the alignment on the test fold does not exceed its 95 % quantile for permuted labels in "
                f"{count} of {dataset.trials} trials"
            )
            yield Note(dataset.name, text, problem, method)
