"""`rows`: one row per dataset, problem, method and trial, without values that depend on time."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import Column, columns, metric_columns
from kernel_pipeline.results.context import TableContext, concatenate, frame_of
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.tasks.metrics import METRICS, chosen_metric

COLUMNS = columns(
    "dataset",
    "task",
    "method",
    "repeat",
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

DEBIASED = columns("debiased_alignment_test", "debiased_alignment_train")
PERMUTED = columns("null_alignment_test", "null_alignment_test_95", "null_alignment_train", "null_alignment_train_95")
"""Columns of runs in which labels are permuted."""


class Rows(Table):
    """The result of every cell, with one further column per metric of the problems of the run."""

    name = "rows"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*COLUMNS, *metric_columns(), *DEBIASED, *PERMUTED)

    @property
    def optional(self) -> tuple[str, ...]:
        return tuple(column.name for column in (*metric_columns(), *PERMUTED))

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"parquet": lambda frame: frame.to_parquet(index=False)}

    def rows(self, context: TableContext) -> pd.DataFrame:
        problems = {problem for dataset in context.plan.datasets for problem in dataset.problems}
        metrics = [column for column in metric_columns() if problems & set(METRICS[column.name].problems)]
        permuted = PERMUTED if context.plan.config.protocol.permutations else ()
        # One frame per dataset, since a frame takes a tenth of the memory of the results from which it is built.
        return concatenate(
            [
                frame_of(
                    map(_row, dataset_cells(dataset, context.finished)), (*COLUMNS, *metrics, *DEBIASED, *permuted)
                )
                for dataset in context.plan.datasets
            ]
        )


def _row(cell: Cell) -> dict[str, object]:
    row = {
        **cell.key,
        "metric": chosen_metric(cell.task.problem, cell.task.metric).name,
        **cell.alignments.to_json(),
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
            "error": path.error,
            "validation_error": path.validation_errors[path.best],
            "regularisation": path.regularisation,
            **path.metrics,
        }
    return row


register(Rows())
