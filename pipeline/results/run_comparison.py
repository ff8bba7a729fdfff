"""Compare the results of two runs, cell by cell and as means over the trials."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kernel_pipeline.results.rounding import rounded_difference, without_rounding

MEASURES = {"error": "error", "alignment": "alignment_test"}
"""Columns of `rows` that are compared, by the name that they have in comparisons."""
KEYS = ["dataset", "task", "metric", "method", "repeat", "trial"]
"""Columns that identify a cell. The metric is one of them, since errors in different metrics cannot be compared."""


@dataclass(frozen=True)
class RunComparison:
    """Results of the cells that two runs have in common."""

    cells: pd.DataFrame
    """One row per cell, in the order of the first run: for each measure, `<measure>_a`, `_b` and `_difference`."""
    only_a: int
    """Number of cells that only the first run has."""
    only_b: int
    """Number of cells that only the second run has."""

    @property
    def n_equal(self) -> int:
        """Return the number of cells with measures that are equal up to rounding; two undefined ones are equal."""
        equal = pd.Series(True, index=self.cells.index)
        for measure in MEASURES:
            first, second = self.cells[f"{measure}_a"], self.cells[f"{measure}_b"]
            equal &= (self.cells[f"{measure}_difference"] == 0) | (first.isna() & second.isna())
        return int(equal.sum())

    def max_abs_difference(self, measure: str) -> float:
        """Return the largest absolute difference of a measure; NaN if it is not defined in any cell."""
        return float(self.cells[f"{measure}_difference"].abs().max())


def compare_runs(first: pd.DataFrame, second: pd.DataFrame) -> RunComparison:
    """Compare the finished rows of two runs; a difference is the second run minus the first, without rounding."""
    columns = {column: measure for measure, column in MEASURES.items()}
    parts = [rows[[*KEYS, *columns]].rename(columns=columns) for rows in (first, second)]
    cells = parts[0].merge(parts[1], on=KEYS, suffixes=("_a", "_b"), validate="one_to_one")
    for measure in MEASURES:
        a, b = (cells[f"{measure}_{side}"].to_numpy(dtype=np.float64) for side in ("a", "b"))
        cells[f"{measure}_difference"] = rounded_difference(b, a)
    ordered = [f"{measure}_{side}" for measure in MEASURES for side in ("a", "b", "difference")]
    return RunComparison(cells[[*KEYS, *ordered]], len(first) - len(cells), len(second) - len(cells))


def mean_differences(cells: pd.DataFrame) -> pd.DataFrame:
    """Return means over the common trials, one row per dataset, problem and method, with the largest differences."""
    groups = cells.groupby(["dataset", "task", "metric", "method"], sort=False)
    columns: dict[str, pd.Series] = {"trials": groups.size()}
    for measure in MEASURES:
        for side in ("a", "b", "difference"):
            columns[f"{measure}_{side}"] = groups[f"{measure}_{side}"].mean()
        size_a, size_b = (groups[f"{measure}_{side}"].agg(_largest).to_numpy() for side in ("a", "b"))
        difference = columns[f"{measure}_difference"]
        columns[f"{measure}_difference"] = pd.Series(
            without_rounding(difference.to_numpy(), np.fmax(size_a, size_b)), difference.index
        )
        columns[f"{measure}_largest"] = groups[f"{measure}_difference"].agg(_largest)
    return pd.DataFrame(columns).reset_index()


def _largest(values: pd.Series) -> float:
    """Return the largest absolute value."""
    return float(values.abs().max())
