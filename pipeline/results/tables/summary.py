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
        infos = [dataset.info for dataset in context.plan.datasets]
        fit_on = {info.name: info.fit_on for info in infos if info.fitted_steps or info.per_trial}
        if not fit_on:
            return summary
        return summary.assign(fit_on=summary["dataset"].map(fit_on))


register(Summary())
