"""`significance`: the paper's matrices of paired one-sided t-tests (Tables 4 and 5)."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.comparison import significance, significance_latex, significance_markdown
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.table import Table, register


class Significance(Table):
    """Entries of the matrices, one row per dataset, problem and ordered pair of methods."""

    name = "significance"
    columns = columns("dataset", "task", "metric", "method", "other", "other_is_better")

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"md": significance_markdown, "tex": significance_latex}

    def rows(self, context: TableContext) -> pd.DataFrame:
        return significance(context.required_table("comparison"))


register(Significance())
