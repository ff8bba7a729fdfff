"""`summary`: mean and standard deviation over trials, also as Markdown and LaTeX in the format of the paper."""

from collections.abc import Callable, Mapping

import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.summary import MEASURES, latex, markdown, summarise
from kernel_pipeline.results.table import Table, register


class Summary(Table):
    """Mean and standard deviation of errors and alignments, one row per dataset, problem and method."""

    name = "summary"
    optional = ("fit_on",)
    columns = columns(
        "dataset",
        "task",
        "metric",
        "method",
        "trials",
        "failed",
        "fit_on",
        *(f"{measure}_{statistic}" for measure in MEASURES for statistic in ("mean", "sd")),
    )

    @property
    def renderers(self) -> Mapping[str, Callable[[pd.DataFrame], bytes]]:
        return {"md": markdown, "tex": latex}

    def rows(self, context: TableContext) -> pd.DataFrame:
        summary = summarise(context.required_table("rows"))
        if not any(dataset.info.per_trial for dataset in context.plan.datasets):
            return summary  # without the column, as in runs of versions that fitted all steps to all samples
        fit_on = {dataset.name: dataset.info.fit_on for dataset in context.plan.datasets}
        return summary.assign(fit_on=summary["dataset"].map(fit_on))


register(Summary())
