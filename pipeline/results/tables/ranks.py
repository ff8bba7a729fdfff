"""`ranks`: average ranks of the methods over the datasets, and the Friedman test."""

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.ranks import rank_methods
from kernel_pipeline.results.table import Table, register


class Ranks(Table):
    """One row per problem and method; a run with fewer than four datasets per problem has no table."""

    name = "ranks"
    columns = columns("task", "metric", "method", "datasets", "average_rank", "friedman_statistic", "friedman_p")

    def rows(self, context: TableContext) -> pd.DataFrame | None:
        return rank_methods(context.required_table("summary"))


register(Ranks())
