"""`nemenyi`: the Nemenyi test of each pair of methods over the datasets."""

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.ranks import compare_ranks
from kernel_pipeline.results.table import Table, register


class Nemenyi(Table):
    """One row per problem and pair of methods; a run with fewer than four datasets per problem has no table."""

    name = "nemenyi"
    columns = columns("task", "metric", "method", "other", "p_nemenyi")

    def rows(self, context: TableContext) -> pd.DataFrame | None:
        return compare_ranks(context.required_table("summary"))


register(Nemenyi())
