"""`path`: one row per fit of the regularisation path of every cell, built one dataset at a time."""

from collections.abc import Iterator, Sequence

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import Column, columns, grid_columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.table import Table, register
from kernel_pipeline.tasks.weights.method import METHODS

KEYS = columns("dataset", "task", "method", "repeat", "trial")
VALUES = columns("regularisation", "train_error", "validation_error", "test_error", "certificate")


class Path(Table):
    """The errors of every cell along its regularisation path."""

    name = "path"

    @property
    def columns(self) -> tuple[Column, ...]:
        return (*KEYS, *grid_columns(), *VALUES)

    @property
    def optional(self) -> tuple[str, ...]:
        return tuple(column.name for column in grid_columns())

    def rows(self, context: TableContext) -> Iterator[pd.DataFrame]:
        # Registering a method must not change the tables of sweeps without it.
        unused = context.plan.config.fit.unused_extensions(context.plan.config.methods)
        names = {grid.name for key, method in METHODS.items() if key not in unused for grid in method.grids[:-1]}
        grids = [column for column in grid_columns() if column.name in names]
        for dataset in context.plan.datasets:
            cells = dataset_cells(dataset, context.finished)
            yield frame_of((row for cell in cells for row in _rows(cell)), (*KEYS, *grids, *VALUES))


def _rows(cell: Cell) -> Iterator[dict[str, object]]:
    """Yield the rows of a cell; the last parameter of a fit is its regularisation value."""
    path, key = cell.result.path, cell.key
    if path is None or path.regularisation is None:
        return
    certificates: Sequence[float | None] = path.certificates or [None] * len(path.values)
    errors = zip(path.train_errors, path.validation_errors, path.test_errors, strict=True)
    for value, (train, validation, test), certificate in zip(path.values, errors, certificates, strict=True):
        yield {
            **key,
            **{grid.name: number for grid, number in zip(cell.task.method.grids[:-1], value[:-1], strict=True)},
            "regularisation": value[-1],
            "train_error": train,
            "validation_error": validation,
            "test_error": test,
            "certificate": certificate,
        }


register(Path())
