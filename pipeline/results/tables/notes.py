"""`notes`: what a user should know about a sweep besides its numbers."""

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.notes import result_notes
from kernel_pipeline.results.table import Table, register


class Notes(Table):
    """The notes about the plan, followed by those about the results."""

    name = "notes"
    columns = columns("dataset", "task", "method", "note")

    def rows(self, context: TableContext) -> pd.DataFrame:
        notes = [*context.plan.notes(), *result_notes(context.plan, context.finished)]
        return frame_of(map(vars, notes), self.columns)


register(Notes())
