"""`notes`: remarks about the plan and the results of a sweep."""

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.table import Table, register


class Notes(Table):
    """The notes about the plan, followed by those about the results."""

    name = "notes"
    columns = columns("dataset", "task", "method", "note")

    def rows(self, context: TableContext) -> pd.DataFrame:
        return frame_of(map(vars, [*context.plan.notes(), *context.notes]), self.columns)


register(Notes())
