"""`bounds`: the paper's theorems, evaluated for the kernel of every cell of a two-stage method."""

import pandas as pd

from kernel_pipeline.results.cells import Cell, dataset_cells
from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, concatenate, frame_of
from kernel_pipeline.results.table import Table, register


class Bounds(Table):
    """Right-hand sides of the theorems; no rows for more than two classes, several outputs or negative weights."""

    name = "bounds"
    columns = columns(
        "dataset",
        "task",
        "method",
        "repeat",
        "trial",
        "alignment_train",
        "predictor_error",
        "theorem12_evaluated",
        "theorem13_evaluated",
        "theorem14_evaluated",
        "theorem15_evaluated",
        "theorem16_evaluated",
        "theorem17_evaluated",
    )

    def rows(self, context: TableContext) -> pd.DataFrame:
        frames = []
        for dataset in context.plan.datasets:
            cells = dataset_cells(dataset, context.finished)
            frames.append(frame_of((_row(cell) for cell in cells if not cell.result.theorems.is_empty), self.columns))
        return concatenate(frames)


def _row(cell: Cell) -> dict[str, object]:
    theorems = cell.result.theorems
    return {
        **cell.key,
        "alignment_train": cell.alignments.train,
        "predictor_error": theorems.predictor_error,
        "theorem12_evaluated": theorems.theorem12,
        "theorem13_evaluated": theorems.theorem13,
        "theorem14_evaluated": theorems.theorem14,
        "theorem15_evaluated": theorems.theorem15,
        "theorem16_evaluated": theorems.theorem16,
        "theorem17_evaluated": theorems.theorem17,
    }


register(Bounds())
