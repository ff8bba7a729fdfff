"""Read the predictions of the cells of a run, with the samples and labels that they belong to."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.methods import dataset_targets
from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.stages.samples import read_folds
from kernel_pipeline.store.arrays import DATA, GRAM, PREDICTIONS, RunStore
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.metrics import predicted_classes

VALIDATION, TEST = "validation", "test"


@dataclass(frozen=True)
class CellPredictions:
    """Predictions of the chosen fit of one cell for the validation samples, followed by the test samples."""

    cell: Cell
    roles: NDArray[np.object_]
    """(q,): "validation" or "test"."""
    rows: Integers
    """(q,): rows of the source."""
    labels: Floats
    """(q, columns), as stored: numbers, -1 and +1 for two classes, or zeros and ones for more."""
    values: Floats
    """(q, columns): predictions of a regression, or decision values."""

    def classes(self) -> tuple[Integers, Integers]:
        """Return the numbers of the true and of the predicted classes, (q,) each."""
        true, predicted = (predicted_classes(block[:, :, None])[:, 0] for block in (self.labels, self.values))
        return true, predicted


def dataset_predictions(context: TableContext, dataset: DatasetPlan) -> Iterator[CellPredictions]:
    """Yield the predictions of the cells of a dataset, in the order of the plan; failed cells have none."""
    store = context.store
    cells = [cell for cell in dataset_cells(dataset, context.finished) if cell.status == OK and cell.result.path]
    if not cells:
        return
    order, folds = store.read(GRAM, f"{dataset.name}/order"), read_folds(store, dataset.name, dataset.repeats)
    targets = store.read(DATA, f"{dataset.name}/targets")
    blocks = {target.problem: list(target.columns) for target in dataset_targets(dataset.problems, dataset.info)}
    for cell in cells:
        roles, held_out = _held_out(dataset, folds[cell.repeat], cell.trial)
        labels = targets[held_out][:, blocks[cell.task.problem]]
        yield CellPredictions(cell, roles, order[held_out], labels, _read(store, cell)[held_out])


def _held_out(dataset: DatasetPlan, fold: Integers, trial: int) -> tuple[NDArray[np.object_], Integers]:
    """Return the roles and the positions of the validation samples, followed by the test samples."""
    folds = trials(dataset.folds, dataset.fixed_test)[trial]
    validation, test = np.flatnonzero(fold == folds.validation), np.flatnonzero(fold == folds.test)
    roles = np.repeat(np.array([VALIDATION, TEST], dtype=object), [len(validation), len(test)])
    return roles, np.concatenate([validation, test])


def _read(store: RunStore, cell: Cell) -> Floats:
    task = cell.task
    name = f"{task.dataset}/{task.problem}/{task.method_id}"
    values: Floats = store.read(PREDICTIONS, name, task.trial, allow_nan=True)
    return values
