"""`rows`: one row per dataset, problem, method and trial. Nothing in it depends on the clock."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import Column, columns, metric_columns
from kernel_pipeline.results.context import TableContext, concatenate, frame_of
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.tasks.metrics import METRICS, primary_metric

COLUMNS = columns(
    "dataset",
    "task",
    "method",
    "trial",
    "error",
    "metric",
    "validation_error",
    "alignment_test",
    "alignment_train",
    "regularisation",
    "n_kernels",
    "n_active",
    "certificate",
    "at_edge",
    "status",
)


class Rows(Table):
    """The result of every cell, with one further column per metric that is not the primary one of a problem."""

    name = "rows"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*COLUMNS, *metric_columns())

    @property
    def optional(self) -> tuple[str, ...]:
        return tuple(column.name for column in metric_columns())

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"parquet": lambda frame: frame.to_parquet(index=False)}

    def rows(self, context: TableContext) -> pd.DataFrame:
        problems = {problem for dataset in context.plan.datasets for problem in dataset.tasks_learned}
        metrics = [column for column in metric_columns() if problems & set(METRICS[column.name].problems)]
        # One frame per dataset: a frame takes a tenth of the memory of the results that it is made of.
        return concatenate(
            [
                frame_of(map(_row, dataset_cells(dataset, context.finished)), (*COLUMNS, *metrics))
                for dataset in context.plan.datasets
            ]
        )


def _row(cell: Cell) -> dict[str, object]:
    row = {
        **cell.key,
        "metric": primary_metric(cell.task.problem).name,
        "alignment_test": cell.alignments.test,
        "alignment_train": cell.alignments.train,
        "at_edge": cell.result.at_edge,
        "status": cell.status,
    }
    if weights := cell.weights:
        row |= {
            "n_kernels": weights.n_kernels,
            "n_active": weights.n_active,
            "certificate": weights.certificate,
        }
    if path := cell.result.path:
        row |= {
            "error": path.test_errors[path.best],
            "validation_error": path.validation_errors[path.best],
            "regularisation": path.values[path.best][-1],
            **path.metrics,
        }
    return row


register(Rows())
