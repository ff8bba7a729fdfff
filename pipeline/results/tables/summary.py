"""`summary`: mean and standard deviation over trials, also as Markdown and LaTeX, as the paper prints them."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.summary import MEASURES, latex, markdown, summarise
from kernel_pipeline.results.table import Table, register


class Summary(Table):
    """Mean and standard deviation of errors and alignments, one row per dataset, problem and method."""

    name = "summary"
    columns = columns(
        "dataset",
        "task",
        "metric",
        "method",
        "trials",
        "failed",
        *(f"{measure}_{statistic}" for measure in MEASURES for statistic in ("mean", "sd")),
    )

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"md": markdown, "tex": latex}

    def rows(self, context: TableContext) -> pd.DataFrame:
        return summarise(context.whole("rows"))


register(Summary())
