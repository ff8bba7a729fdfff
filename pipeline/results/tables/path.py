"""`path`: one row per regularisation value of every cell; the largest table, which is built one dataset at a time."""

from collections.abc import Iterator, Sequence

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.table import Table, register


class Path(Table):
    """The errors of every cell along its regularisation path."""

    name = "path"
    columns = columns(
        "dataset",
        "task",
        "method",
        "repeat",
        "trial",
        "gamma",
        "gamma1",
        "regularisation",
        "train_error",
        "validation_error",
        "test_error",
        "certificate",
    )

    def rows(self, context: TableContext) -> Iterator[pd.DataFrame]:
        for dataset in context.plan.datasets:
            cells = dataset_cells(dataset, context.finished)
            yield frame_of((row for cell in cells for row in _rows(cell)), self.columns)


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
            **dict(zip(("gamma", "gamma1"), value[:-1], strict=False)),
            "regularisation": value[-1],
            "train_error": train,
            "validation_error": validation,
            "test_error": test,
            "certificate": certificate,
        }


register(Path())
