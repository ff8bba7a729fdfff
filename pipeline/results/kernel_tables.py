"""Tables of base kernels: their alignments, their own errors where asked for, and how the two go together."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.stages.one_stage import EachKernelTask
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.tasks.arrays import Floats

# The table leaves out datasets with more kernels; the arrays have them all.
MOST_KERNELS = 5000
# array: column
COLUMNS = {
    "alignment": "alignment_train",
    "alignment_test": "alignment_test",
    "uncentered": "uncentered_alignment_train",
    "unnormalised": "unnormalised_alignment_train",
    "theorem12": "theorem12_evaluated",
}
KEYS = ["dataset", "task", "trial", "kernel"]


def kernel_table(store: RunStore, dataset: DatasetPlan, finished: dict[str, Finished]) -> pd.DataFrame:
    """A row a base kernel and trial."""
    tables = [pd.DataFrame(columns=[*KEYS, *COLUMNS.values()])]
    reduced = all(task.name in finished and not finished[task.name].failed for task in dataset.stages["reduce"])
    for task in dataset.tasks_learned if reduced and len(dataset.kernels) <= MOST_KERNELS else ():
        arrays = {
            column: store.read(STATISTICS, f"{dataset.name}/{task}/{array}", undefined=True).ravel()
            for array, column in COLUMNS.items()
        }
        keys = {
            "dataset": dataset.name,
            "task": task,
            "trial": np.repeat(np.arange(dataset.folds), len(dataset.kernels)),
            "kernel": np.tile(np.array(dataset.kernels, dtype=object), dataset.folds),
        }
        table = pd.DataFrame(keys | arrays)
        fitted = _own_fits(dataset, task, finished)
        tables.append(table if fitted is None else table.assign(error=fitted[0].ravel(), status=fitted[1].ravel()))
    return joined(tables)


def joined(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """One after the other; those without rows, whose columns have no types, are left out."""
    return pd.concat([table for table in tables if len(table)] or list(tables), ignore_index=True)


def _own_fits(
    dataset: DatasetPlan, task: str, finished: dict[str, Finished]
) -> tuple[Floats, NDArray[np.object_]] | None:
    """(trials, p), twice: the test errors of the kernels alone and their statuses; None if they were not requested."""
    fits = [fit for fit in dataset.of(EachKernelTask) if fit.problem == task]
    if not fits:
        return None
    errors = np.full((dataset.folds, len(dataset.kernels)), np.nan)
    statuses = np.full(errors.shape, "", dtype=object)
    failed = failures(dataset, finished)
    for fit in fits:
        kernels = list(fit.kernels)
        if fit.name in failed:
            statuses[fit.trial, kernels] = failed[fit.name]
        else:
            result = finished[fit.name].result
            errors[fit.trial, kernels] = [np.nan if error is None else error for error in result["errors"]]
            statuses[fit.trial, kernels] = result["statuses"]
    return errors, statuses


def correlation_table(kernels: pd.DataFrame) -> pd.DataFrame | None:
    """Over the base kernels of a dataset, how alignment and accuracy go together, centered and not (Table 1).

    Both are means over the trials; accuracy is 1 - error. None if no kernel has a fit of its own.
    """
    if "error" not in kernels:
        return None
    fitted = kernels.dropna(subset="error")
    if fitted.empty:
        return None
    means = fitted.groupby(["dataset", "task", "kernel"], sort=False)[
        ["alignment_train", "uncentered_alignment_train", "error"]
    ].mean()
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "task": task,
                "kernels": len(group),
                "centered": _correlation(group["alignment_train"], -group["error"]),
                "uncentered": _correlation(group["uncentered_alignment_train"], -group["error"]),
            }
            for (dataset, task), group in means.groupby(level=["dataset", "task"], sort=False)
        ]
    )


def _correlation(first: pd.Series, second: pd.Series) -> float:
    """Pearson's; NaN where one of them does not vary."""
    if len(first) < 2 or first.nunique() == 1 or second.nunique() == 1:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])
