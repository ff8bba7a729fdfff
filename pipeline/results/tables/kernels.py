"""`kernels`: one row per base kernel and trial, with the errors of the kernel if it is fitted separately."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, concatenate
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.stages.kernel_results import KernelFits
from kernel_pipeline.stages.single_kernels import TEST_ERROR, VALIDATION_ERROR, SingleKernelsTask
from kernel_pipeline.store.arrays import STATISTICS, RunStore
from kernel_pipeline.store.reports import OK, TaskReport

MAX_KERNELS = 5000
"""Datasets with more kernels are left out of the table; the arrays contain all kernels."""
ARRAYS = {
    "alignment": "alignment_train",
    "alignment_test": "alignment_test",
    "uncentered": "uncentered_alignment_train",
    "unnormalised": "unnormalised_alignment_train",
    "theorem12": "theorem12_evaluated",
}
DEBIASED = {
    "alignment_debiased": "debiased_alignment_train",
    "alignment_test_debiased": "debiased_alignment_test",
}
"""Column of each stored array; those of `DEBIASED` are the last of the table."""
KEYS = ("dataset", "task", "repeat", "trial", "kernel")


class Kernels(Table):
    """Alignments of every base kernel."""

    name = "kernels"
    columns = columns(*KEYS, *ARRAYS.values(), "error", "validation_error", "status", *DEBIASED.values())
    optional = ("error", "validation_error", "status")

    def rows(self, context: TableContext) -> pd.DataFrame:
        empty = pd.DataFrame(columns=[*KEYS, *ARRAYS.values(), *DEBIASED.values()])
        found = [
            _kernels(context.store, dataset, problem, context.finished)
            for dataset in context.plan.datasets
            if len(dataset.kernels) <= MAX_KERNELS and has_statistics(dataset, context.finished)
            for problem in dataset.problems
        ]
        return concatenate([empty, *found])


def has_statistics(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> bool:
    """Return whether the statistics of all problems of a dataset are finished."""
    return all(task.name in finished and not finished[task.name].failed for task in dataset.stages["reduce"])


def _kernels(store: RunStore, dataset: DatasetPlan, problem: str, finished: Mapping[str, TaskReport]) -> pd.DataFrame:
    """Return the rows of one dataset and problem."""
    arrays = {
        column: store.read(STATISTICS, f"{dataset.name}/{problem}/{array}", allow_nan=True).ravel()
        for array, column in (ARRAYS | DEBIASED).items()
    }
    keys = {
        "dataset": dataset.name,
        "task": problem,
        "repeat": np.repeat(np.arange(dataset.trials) // dataset.folds, len(dataset.kernels)),
        "trial": np.repeat(np.arange(dataset.trials) % dataset.folds, len(dataset.kernels)),
        "kernel": np.tile(np.array(dataset.kernels, dtype=object), dataset.trials),
    }
    table = pd.DataFrame(keys | arrays)
    tasks = [task for task in dataset.tasks if isinstance(task, SingleKernelsTask) and task.problem == problem]
    return table.assign(**_fit_columns(store, dataset, tasks, finished)) if tasks else table


def _fit_columns(
    store: RunStore,
    dataset: DatasetPlan,
    tasks: Sequence[SingleKernelsTask],
    finished: Mapping[str, TaskReport],
) -> dict[str, NDArray[Any]]:
    """Return the errors and the status of single kernels, one value per trial and kernel, by column."""
    errors = {
        column: np.full((dataset.trials, len(dataset.kernels)), np.nan) for column in ("error", "validation_error")
    }
    statuses = np.full((dataset.trials, len(dataset.kernels)), OK, dtype=object)
    failed = failures(dataset, finished)
    for task in tasks:
        place = task.trial, slice(task.kernels.start, task.kernels.stop)
        if task.name in failed:
            statuses[place] = failed[task.name]
            continue
        for column, key in (("error", TEST_ERROR), ("validation_error", VALIDATION_ERROR)):
            name = f"{dataset.name}/{task.problem}/{key}"
            errors[column][place] = store.read(STATISTICS, name, place, allow_nan=True)
        for reason, kernels in read_result(task, finished[task.name], KernelFits).failed.items():
            statuses[task.trial, list(kernels)] = reason
    return {column: values.ravel() for column, values in (errors | {"status": statuses}).items()}


register(Kernels())
