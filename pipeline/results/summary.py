"""Summarise rows by mean and standard deviation over trials, as numbers and in the format of the paper."""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from kernel_pipeline.results.markup import latex_text
from kernel_pipeline.results.rounding import ROUNDING
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.metrics import METRICS

MEASURES = ("error", "alignment_test", "alignment_train")
FAILED = "failed"
UNDEFINED = "-"
FITTED_ON = {"train": "to the training folds of each trial", "all": "to all samples, including those of the test folds"}
"""What steps that depend on the data are fitted to, by the value of `fit_on`."""
CAPTION = "above, alignment on the test fold below; mean ± standard deviation over {trials} trials"


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row per dataset, problem and method, in the order of the rows; failed trials are only counted."""
    keys = ["dataset", "task", "metric", "method"]
    measured = rows.assign(**{measure: rows[measure].where(rows["status"] == OK) for measure in MEASURES})
    groups = measured.groupby(keys, sort=False)
    columns: dict[str, pd.Series] = {
        "trials": groups.size(),
        "failed": (measured["status"] != OK).groupby([measured[key] for key in keys], sort=False).sum(),
    }
    for measure in MEASURES:
        columns[f"{measure}_mean"] = groups[measure].mean()
        columns[f"{measure}_sd"] = groups[measure].std(ddof=1)
    return pd.DataFrame(columns).reset_index()


def markdown(summary: pd.DataFrame) -> bytes:
    """Return a summary as Markdown, one table per metric."""
    return "\n".join(map(_markdown, summary_tables(summary))).encode()


def latex(summary: pd.DataFrame) -> bytes:
    """Return a summary as LaTeX, one table per metric."""
    return "\n".join(map(_latex, summary_tables(summary))).encode()


@dataclass(frozen=True)
class SummaryCell:
    """One cell of a summary table: mean and standard deviation of the error and of the alignment, as text."""

    error: str
    alignment: str
    is_best: bool

    def shown(self, mark: str = "") -> str:
        """Return the cell as markup of the library rich for the terminal, with a mark before the error."""
        error = f"{mark} {self.error}".lstrip()
        return f"[bold]{error}[/bold]\n{self.alignment}" if self.is_best else f"{error}\n{self.alignment}"


LEFT_OUT = SummaryCell("-", "", is_best=False)


@dataclass(frozen=True)
class SummaryTable:
    """Results of all methods (rows) on all datasets (columns) in one metric."""

    title: str
    metric: str
    methods: list[str]
    datasets: list[str]
    cells: dict[tuple[str, str], SummaryCell]
    footnote: str = ""

    def row(self, method: str) -> list[SummaryCell]:
        """Return the cells of a method, which may be left out for some datasets."""
        return [self.cells.get((method, dataset), LEFT_OUT) for dataset in self.datasets]


def summary_tables(summary: pd.DataFrame) -> list[SummaryTable]:
    """Arrange a summary by method and dataset, one table per metric."""
    tables = []
    for metric in summary["metric"].unique():
        records = summary[summary["metric"] == metric].to_dict("records")
        datasets = list(dict.fromkeys(str(record["dataset"]) for record in records))
        smallest = summary[summary["metric"] == metric].groupby("dataset")["error_mean"].min().to_dict()
        tables.append(
            SummaryTable(
                title=f"{_title(metric)} {CAPTION.format(trials=max(record['trials'] for record in records))}",
                metric=str(metric),
                methods=list(dict.fromkeys(str(record["method"]) for record in records)),
                datasets=datasets,
                cells={
                    (str(record["method"]), str(record["dataset"])): SummaryCell(
                        error=_plus_minus(record["error_mean"], record["error_sd"], FAILED),
                        alignment=_plus_minus(record["alignment_test_mean"], record["alignment_test_sd"], UNDEFINED),
                        is_best=math.isclose(record["error_mean"], smallest[str(record["dataset"])], rel_tol=ROUNDING),
                    )
                    for record in records
                },
                footnote=_footnote(datasets, records),
            )
        )
    return tables


def _footnote(datasets: list[str], records: list[dict[Hashable, Any]]) -> str:
    """Return a sentence that says what steps of the datasets are fitted to; empty if no dataset has such steps."""
    chosen = {str(record["dataset"]): record.get("fit_on") for record in records}
    names = {fit_on: [name for name in datasets if chosen[name] == fit_on] for fit_on in FITTED_ON}
    listed = [f"{FITTED_ON[fit_on]}: {', '.join(found)}" for fit_on, found in names.items() if found]
    return f"Scaling and other steps that depend on the data are fitted {'; '.join(listed)}." if listed else ""


def _title(metric: str) -> str:
    """Return the title of a metric, such as "Regression: RMSE"."""
    found = METRICS[metric]
    return f"{' and '.join(found.problems).capitalize()}: {found.error_title}"


def _plus_minus(mean: float, deviation: float, placeholder: str) -> str:
    """Return mean and standard deviation with three decimals, as in the paper.

    Both have one decimal if the mean is at least 10, and three significant digits if it is below 0.01 or at least
    10,000. The standard deviation of a single trial is not defined and is left out.
    """
    if pd.isna(mean):
        return placeholder
    style = ".3f" if 0.01 <= abs(mean) < 10 or mean == 0 else ".1f" if 10 <= abs(mean) < 10_000 else ".3g"
    return f"{mean:{style}}" if pd.isna(deviation) else f"{mean:{style}} ± {deviation:{style}}"


def _markdown(table: SummaryTable) -> str:
    lines = [
        f"{table.title}.",
        "",
        "| method | " + " | ".join(table.datasets) + " |",
        "|---" * (len(table.datasets) + 1) + "|",
    ]
    for method in table.methods:
        cells = table.row(method)
        lines.append(f"| {method} | " + " | ".join(f"{cell.error}<br>{cell.alignment}" for cell in cells) + " |")
    lines += ["", table.footnote] if table.footnote else []
    return "\n".join(lines) + "\n"


def _latex(table: SummaryTable) -> str:
    def formula(text: str) -> str:
        return "$" + text.replace("±", r"\pm") + "$" if "±" in text else text

    lines = [
        f"% {table.title}",
        *([f"% {table.footnote}"] if table.footnote else []),
        r"\begin{tabular}{l" + "c" * len(table.datasets) + "}",
        r"\hline",
        " & ".join(["", *map(latex_text, table.datasets)]) + r" \\",
        r"\hline",
    ]
    for method in table.methods:
        cells = table.row(method)
        lines += [
            " & ".join([latex_text(method), *(formula(cell.error) for cell in cells)]) + r" \\",
            " & ".join(["", *(formula(cell.alignment) for cell in cells)]) + r" \\",
            r"\hline",
        ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
