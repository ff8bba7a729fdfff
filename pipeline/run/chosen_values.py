"""Choose the regularisation value of a model from those that the trials of a run chose."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kernel_pipeline.errors import FailedError, PipelineError, RefusedError
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.results.cells import dataset_cells
from kernel_pipeline.run.manifest import Manifest
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.folds import trial_name
from kernel_pipeline.text import counted

Values = tuple[float, ...]
"""One number for each grid of a method; most methods have one grid."""


@dataclass(frozen=True)
class WantedModel:
    """The model to fit: its dataset, problem and method, and the rows and the value that it is fitted with."""

    dataset: str
    problem: str
    method: str
    regularisation: Values | None = None
    """The regularisation value; None for the value that `trial` chose, or, without a trial, for the median."""
    trial: int | None = None
    """The trial whose training rows are used, numbered over all repeats; None for all rows."""


def chosen_value(manifest: Manifest, plan: DatasetPlan, wanted: WantedModel, path: Sequence[Values]) -> Values:
    """Return the regularisation value of a model.

    Parameters
    ----------
    path
        All values of the sweep, from the most to the least regularised.

    Raises
    ------
    PipelineError
        If the given value does not have one number for each grid of the method.
    RefusedError
        If no value is given, and tasks of the dataset are not finished.
    FailedError
        If no value is given, and the method failed in all trials, or in the trial of the model.
    """
    if wanted.regularisation is not None:
        if len(wanted.regularisation) != len(path[0]):
            raise PipelineError(
                f"regularisation: {wanted.method} needs {counted(len(path[0]), 'value')}; got "
                f"{len(wanted.regularisation)}"
            )
        return wanted.regularisation
    found = _values_by_trial(manifest, plan, wanted)
    if not found or (wanted.trial is not None and wanted.trial not in found):
        per_repeat = plan.folds if plan.repeats > 1 else None
        which = "all its trials" if wanted.trial is None else trial_name(wanted.trial, per_repeat)
        raise FailedError(
            f"{wanted.method} of {wanted.dataset!r} failed in {which}, so that no regularisation value was chosen; "
            "set one with regularisation=..., or --regularisation"
        )
    return median_value(found.values(), path) if wanted.trial is None else found[wanted.trial]


def median_value(chosen: Iterable[Values], path: Sequence[Values]) -> Values:
    """Return the median of the chosen values, separately for each grid.

    If their number is even, it is the more regularised of the two middle values.

    >>> median_value([(1.0,), (4.0,), (4.0,), (16.0,), (16.0,), (16.0,)], [(1.0,), (4.0,), (16.0,)])
    (4.0,)
    """
    medians = []
    for numbers, grid in zip(zip(*chosen, strict=True), zip(*path, strict=True), strict=True):
        ordered = list(dict.fromkeys(grid))
        ranks = sorted(ordered.index(number) for number in numbers)
        medians.append(ordered[ranks[(len(ranks) - 1) // 2]])
    return tuple(medians)


def _values_by_trial(manifest: Manifest, plan: DatasetPlan, wanted: WantedModel) -> dict[int, Values]:
    """Return the value that each trial chose; trials that failed are left out."""
    finished, method_key = manifest.finished.tasks, (wanted.problem, wanted.method)
    if any(task.name not in finished for task in plan.tasks):
        raise RefusedError(
            f"{manifest.root} has not finished yet. `pipeline resume {quoted(manifest.root)}` resumes the run"
        )
    return {
        found.task.trial: tuple(found.result.path.values[found.result.path.best])
        for found in dataset_cells(plan, finished)
        if found.task.method_key == method_key and found.status == OK and found.result.path
    }
