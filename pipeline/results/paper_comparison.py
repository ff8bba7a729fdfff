"""Compare the results of a run with the paper's Tables 1 to 5: numbers, orders of methods and significance."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from kernel_pipeline.results.comparison import compare_methods, significance
from kernel_pipeline.results.paper_tables import (
    ALIGNMENT,
    CORRELATION,
    ERROR,
    OTHER_IS_BETTER,
    PAPER_METRICS,
    NumberKey,
    PaperNumber,
    paper_numbers,
)
from kernel_pipeline.results.summary import summarise

NAN = math.nan


@dataclass(frozen=True)
class ComparedNumber:
    """One number of the paper, and ours; NaN where ours is not defined."""

    paper: PaperNumber
    ours: float
    ours_sd: float = NAN

    @property
    def difference(self) -> float:
        """Return our number minus that of the paper."""
        return self.ours - self.paper.value

    @property
    def deviations(self) -> float:
        """Return the difference in units of the paper's standard deviation; NaN where the paper has none."""
        return self.difference / self.paper.sd

    @property
    def agrees(self) -> bool | None:
        """Return whether an entry of Table 4 or 5 is the same; None for other numbers and undefined tests."""
        is_entry = self.paper.key.measure == OTHER_IS_BETTER and not math.isnan(self.ours)
        return self.ours == self.paper.value if is_entry else None


@dataclass(frozen=True)
class ComparedOrder:
    """Order of two methods on a dataset in the paper, by a measure, and whether ours is the same."""

    table: int
    key: NumberKey
    """Key with the method of the smaller number in the paper as `method`, and that of the larger one as `other`."""
    agrees: bool


def compare_with_paper(rows: pd.DataFrame, correlation: pd.DataFrame | None) -> list[ComparedNumber]:
    """Return all numbers of the paper that a run covers, in the order of the paper.

    Parameters
    ----------
    rows
        The table `rows`. Rows whose metric is not that of the paper are left out.
    correlation
        The table `correlation`; None if the run has none.
    """
    ours = {**_means(rows), **_correlations(correlation), **_entries(rows)}
    return [ComparedNumber(number, *ours[number.key]) for number in paper_numbers() if number.key in ours]


def compare_orders(numbers: Sequence[ComparedNumber]) -> list[ComparedOrder]:
    """Compare the order of each pair of numbers that the paper has for a dataset, problem and measure.

    Pairs that are equal in the paper, or not defined in the run, are left out. Numbers that are equal in the run, but
    not in the paper, do not agree.
    """
    groups: dict[tuple[int, str, str, str], list[ComparedNumber]] = {}
    for number in numbers:
        key = number.paper.key
        if key.measure != OTHER_IS_BETTER and not math.isnan(number.ours):
            groups.setdefault((number.paper.table, key.dataset, key.problem, key.measure), []).append(number)
    return [
        _order(*sorted(pair, key=lambda number: number.paper.value))
        for group in groups.values()
        for pair in combinations(group, 2)
        if pair[0].paper.value != pair[1].paper.value
    ]


def compared_frame(numbers: Sequence[ComparedNumber]) -> pd.DataFrame:
    """Return compared numbers as a table."""
    names = ["table", "dataset", "task", "measure", "method", "other", "ours", "ours_sd", "paper", "paper_sd"]
    frame = pd.DataFrame(
        [
            {
                "table": number.paper.table,
                "dataset": number.paper.key.dataset,
                "task": number.paper.key.problem,
                "measure": number.paper.key.measure,
                "method": number.paper.key.method,
                "other": number.paper.key.other,
                "ours": number.ours,
                "ours_sd": number.ours_sd,
                "paper": number.paper.value,
                "paper_sd": number.paper.sd,
                "difference": number.difference,
                "deviations": number.deviations,
                "agrees": number.agrees,
            }
            for number in numbers
        ],
        columns=[*names, "difference", "deviations", "agrees"],
    )
    return frame.astype({"agrees": "boolean"}).astype({"agrees": "Int64"})


def _order(smaller: ComparedNumber, larger: ComparedNumber) -> ComparedOrder:
    key = smaller.paper.key
    pair = NumberKey(key.dataset, key.problem, key.measure, key.method, larger.paper.key.method)
    return ComparedOrder(smaller.paper.table, pair, smaller.ours < larger.ours)


Numbers = dict[NumberKey, tuple[float, float]]
"""Mean and standard deviation of each number of a run."""


def _in_paper_metrics(rows: pd.DataFrame) -> pd.DataFrame:
    """Return the rows whose metric is that of the paper."""
    return rows[rows["metric"] == rows["task"].map(PAPER_METRICS)]


def _means(rows: pd.DataFrame) -> Numbers:
    """Return errors and alignments on the test fold."""
    columns = {ERROR: "error", ALIGNMENT: "alignment_test"}
    return {
        NumberKey(row["dataset"], row["task"], measure, row["method"]): (row[f"{column}_mean"], row[f"{column}_sd"])
        for row in summarise(_in_paper_metrics(rows)).to_dict("records")
        for measure, column in columns.items()
    }


def _correlations(correlation: pd.DataFrame | None) -> Numbers:
    records = [] if correlation is None else correlation.to_dict("records")
    return {
        NumberKey(row["dataset"], row["task"], CORRELATION, kind): (float(row[kind]), NAN)
        for row in records
        for kind in ("centered", "uncentered")
    }


def _entries(rows: pd.DataFrame) -> Numbers:
    """Return the 0/1 entries of the matrices; the paper's test does not need the sizes of the folds."""
    chosen = _in_paper_metrics(rows)
    found = significance(compare_methods(chosen, dict.fromkeys(chosen["dataset"].unique(), NAN)))
    return {
        NumberKey(row["dataset"], row["task"], OTHER_IS_BETTER, row["method"], row["other"]): (
            NAN if pd.isna(row["other_is_better"]) else float(row["other_is_better"]),
            NAN,
        )
        for row in found.to_dict("records")
    }
