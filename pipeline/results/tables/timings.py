"""`timings`: time and memory of every task; the only table that differs from run to run."""

import pandas as pd

from kernel_pipeline.results.columns import Column, columns
from kernel_pipeline.results.context import TableContext, frame_of
from kernel_pipeline.results.table import Table, register

TASK = Column("task", "text", meaning="name of the task, a unit of work: stage, dataset and part")


class Timings(Table):
    """Time and memory of every task."""

    name = "timings"
    columns = (TASK, *columns("seconds", "peak_memory_bytes"))

    def rows(self, context: TableContext) -> pd.DataFrame:
        rows = (
            {"task": task.name, "seconds": entry.seconds, "peak_memory_bytes": entry.peak_memory}
            for task in context.plan.known_tasks(context.finished)
            if (entry := context.finished.get(task.name)) and task.name not in context.pending
        )
        return frame_of(rows, self.columns)


register(Timings())
