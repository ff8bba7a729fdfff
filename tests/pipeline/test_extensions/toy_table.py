"""A table in one file: the range of the errors of each method."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.columns import Column, columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.table import Table


class Ranges(Table):
    """Smallest and largest error of a method over the trials of a dataset."""

    name = "ranges"
    columns = (
        *columns("dataset", "task", "method"),
        Column("least", "number", meaning="smallest error over the trials", nullable=True),
        Column("most", "number", meaning="largest error over the trials", nullable=True),
    )

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"json": lambda frame: frame.to_json(orient="records").encode()}

    def rows(self, context: TableContext) -> pd.DataFrame:
        groups = context.required_table("rows").groupby(["dataset", "task", "method"], sort=False)["error"]
        return groups.agg(most="max", least="min").reset_index()


TABLE = Ranges()
