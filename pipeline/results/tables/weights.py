"""`weights`: the strongest kernels of every cell."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, concatenate, frame_of
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.results.tables.kernels import has_statistics
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats

MAX_KERNELS = 100
"""Largest number of kernels of a cell in the table; the arrays contain all weights."""


class Weights(Table):
    """Kernels with the largest absolute weights, strongest first; failed cells have none."""

    name = "weights"
    columns = columns("dataset", "task", "method", "repeat", "trial", "kernel", "weight", "direction")

    def rows(self, context: TableContext) -> pd.DataFrame:
        frames = (frame_of(_dataset_rows(context, dataset), self.columns) for dataset in context.plan.datasets)
        return concatenate([frame_of((), self.columns), *frames])


def _dataset_rows(context: TableContext, dataset: DatasetPlan) -> Iterator[dict[str, object]]:
    for cell in dataset_cells(dataset, context.finished):
        if cell.weights and cell.weights.status == OK and cell.weights.n_active is not None:
            yield from _rows(context, dataset, cell)


def _rows(context: TableContext, dataset: DatasetPlan, cell: Cell) -> Iterator[dict[str, object]]:
    task, store = cell.task, context.store
    group = f"{dataset.name}/{task.problem}"
    weights = store.read(WEIGHTS, f"{group}/{task.method_id}", task.trial)
    chosen = strongest(weights)
    directions = np.full(len(weights), np.nan)
    if dataset.rank_one and has_statistics(dataset, context.finished):
        directions = store.read(STATISTICS, f"{group}/direction", task.trial, allow_nan=True)
    for kernel in chosen:
        direction = None if np.isnan(directions[kernel]) else int(directions[kernel])
        yield {
            **cell.key,
            "kernel": dataset.kernels[kernel],
            "weight": float(weights[kernel]),
            "direction": direction,
        }


def strongest(weights: Floats) -> list[int]:
    """Return the kernels with nonzero weights by decreasing absolute weight, at most `MAX_KERNELS`.

    Kernels with equal weights keep their order.

    >>> strongest(np.array([0.2, 0.0, -0.5, 0.2]))
    [2, 0, 3]
    """
    order = np.argsort(-np.abs(weights), kind="stable")[:MAX_KERNELS]
    return [int(kernel) for kernel in order if weights[kernel] != 0]


register(Weights())
