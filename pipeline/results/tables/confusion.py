"""`confusion`: number of test samples of every cell by true and predicted class."""

from collections.abc import Iterator

import numpy as np
import pandas as pd

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.predictions import TEST, CellPredictions, dataset_predictions
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.tasks.labels import class_names


class Confusion(Table):
    """Number of test samples per pair of a true and a predicted class; a run without classes has no table."""

    name = "confusion"
    columns = columns("dataset", "task", "method", "repeat", "trial", "true_class", "predicted_class", "samples")

    def rows(self, context: TableContext) -> pd.DataFrame | None:
        with_classes = [dataset for dataset in context.plan.datasets if "classification" in dataset.problems]
        if not with_classes:
            return None
        rows = (
            row
            for dataset in with_classes
            for found in dataset_predictions(context, dataset)
            if found.cell.task.problem == "classification"
            for row in _rows(dataset, found)
        )
        return frame_of(rows, self.columns)


def _rows(dataset: DatasetPlan, found: CellPredictions) -> Iterator[dict[str, object]]:
    """Yield the pairs of classes that occur, by true class and then by predicted class."""
    names, (true, predicted) = class_names(dataset.info.classes), found.classes()
    tested = found.roles == TEST
    pairs, counts = np.unique(np.column_stack([true, predicted])[tested], axis=0, return_counts=True)
    for (first, second), count in zip(pairs, counts, strict=True):
        yield {
            **found.cell.key,
            "true_class": names[first],
            "predicted_class": names[second],
            "samples": int(count),
        }


register(Confusion())
