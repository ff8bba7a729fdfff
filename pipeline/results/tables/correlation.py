"""`correlation`: correlation of alignment and accuracy over the base kernels of a dataset (Table 1 of the paper)."""

import numpy as np
import pandas as pd

from kernel_pipeline.results.columns import columns
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.table import Table, register


class Correlation(Table):
    """Correlations over the base kernels that were fitted separately; a run without such fits has no table."""

    name = "correlation"
    columns = columns("dataset", "task", "kernels", "centered", "uncentered")

    def rows(self, context: TableContext) -> pd.DataFrame | None:
        return correlate(context.required_table("kernels"))


def correlate(kernels: pd.DataFrame) -> pd.DataFrame | None:
    """Return the correlation of centered and uncentered alignment with accuracy; None without fits of single kernels.

    Alignment and accuracy, which is 1 - error, are means over the trials.
    """
    if "error" not in kernels:
        return None
    fitted = kernels.dropna(subset="error")
    if fitted.empty:
        return None
    means = fitted.groupby(["dataset", "task", "kernel"], sort=False)[
        ["alignment_train", "uncentered_alignment_train", "error"]
    ].mean()
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "task": task,
                "kernels": len(group),
                "centered": _correlation(group["alignment_train"], -group["error"]),
                "uncentered": _correlation(group["uncentered_alignment_train"], -group["error"]),
            }
            for (dataset, task), group in means.groupby(level=["dataset", "task"], sort=False)
        ]
    )


def _correlation(first: pd.Series, second: pd.Series) -> float:
    """Return Pearson's correlation; NaN if one of the two is constant."""
    if len(first) < 2 or first.nunique() == 1 or second.nunique() == 1:
        return float("nan")
    return float(np.corrcoef(first, second)[0, 1])


register(Correlation())
