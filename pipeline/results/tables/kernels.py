"""`kernels`: one row per base kernel and trial, with the kernel's own error where the config asks for it."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, concatenate
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.stages.kernel_results import KernelFits
from kernel_pipeline.stages.one_stage import EachKernelTask
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.reports import Finished
from kernel_pipeline.tasks.arrays import Floats

MAX_KERNELS = 5000
"""The table leaves out datasets with more kernels than this; the arrays hold all of them."""
ARRAYS = {
    "alignment": "alignment_train",
    "alignment_test": "alignment_test",
    "uncentered": "uncentered_alignment_train",
    "unnormalised": "unnormalised_alignment_train",
    "theorem12": "theorem12_evaluated",
}
"""Column of each stored array."""
KEYS = ("dataset", "task", "trial", "kernel")


class Kernels(Table):
    """Alignments of every base kernel."""

    name = "kernels"
    columns = columns(*KEYS, *ARRAYS.values(), "error", "status")
    optional = ("error", "status")

    def rows(self, context: TableContext) -> pd.DataFrame:
        empty = pd.DataFrame(columns=[*KEYS, *ARRAYS.values()])
        found = [
            _kernels(context.store, dataset, problem, context.finished)
            for dataset in context.plan.datasets
            if len(dataset.kernels) <= MAX_KERNELS and _has_statistics(dataset, context.finished)
            for problem in dataset.tasks_learned
        ]
        return concatenate([empty, *found])


def _has_statistics(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> bool:
    return all(task.name in finished and not finished[task.name].failed for task in dataset.stages["reduce"])


def _kernels(store: RunStore, dataset: DatasetPlan, problem: str, finished: Mapping[str, Finished]) -> pd.DataFrame:
    """Return the rows of one dataset and problem."""
    arrays = {
        column: store.read(STATISTICS, f"{dataset.name}/{problem}/{array}", undefined=True).ravel()
        for array, column in ARRAYS.items()
    }
    keys = {
        "dataset": dataset.name,
        "task": problem,
        "trial": np.repeat(np.arange(dataset.folds), len(dataset.kernels)),
        "kernel": np.tile(np.array(dataset.kernels, dtype=object), dataset.folds),
    }
    table = pd.DataFrame(keys | arrays)
    fits = _own_fits(dataset, problem, finished)
    return table if fits is None else table.assign(error=fits[0].ravel(), status=fits[1].ravel())


def _own_fits(
    dataset: DatasetPlan, problem: str, finished: Mapping[str, Finished]
) -> tuple[Floats, NDArray[np.object_]] | None:
    """Return test errors and statuses of the kernels alone, (trials, p) each; None if they were not requested."""
    tasks = [task for task in dataset.of(EachKernelTask) if task.problem == problem]
    if not tasks:
        return None
    errors = np.full((dataset.folds, len(dataset.kernels)), np.nan)
    statuses = np.full(errors.shape, "", dtype=object)
    failed = failures(dataset, finished)
    for task in tasks:
        kernels = list(task.kernels)
        if task.name in failed:
            statuses[task.trial, kernels] = failed[task.name]
        else:
            fits = read_result(task, finished[task.name], KernelFits)
            errors[task.trial, kernels] = [np.nan if error is None else error for error in fits.errors]
            statuses[task.trial, kernels] = fits.statuses
    return errors, statuses


register(Kernels())
