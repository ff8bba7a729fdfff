"""`outputs`: the error of each output of regressions that have several."""

from collections.abc import Iterator, Sequence

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.table import Table, register


class Outputs(Table):
    """The test error of every cell at its chosen regularisation value, by output."""

    name = "outputs"
    columns = columns("dataset", "task", "method", "repeat", "trial", "output", "error")

    def rows(self, context: TableContext) -> pd.DataFrame | None:
        several = [dataset for dataset in context.plan.datasets if dataset.info.outputs]
        if not several:
            return None
        rows = (
            row
            for dataset in several
            for cell in dataset_cells(dataset, context.finished)
            for row in _rows(cell, dataset.info.outputs)
        )
        return frame_of(rows, self.columns)


def _rows(cell: Cell, outputs: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield one row per output of a cell; a failed cell has none."""
    if cell.result.path:
        for output, error in zip(outputs, cell.result.path.output_errors, strict=True):
            yield {**cell.key, "output": output, "error": error}


register(Outputs())
