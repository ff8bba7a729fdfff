"""Summaries of rows: mean and standard deviation over trials, as numbers and as the paper prints them."""

from dataclasses import dataclass

import pandas as pd

from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.metrics import METRICS

MEASURES = ("error", "alignment_test", "alignment_train")
FAILED = "failed"
UNDEFINED = "-"
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
    return "\n".join(map(_markdown, summary_grids(summary))).encode()


def latex(summary: pd.DataFrame) -> bytes:
    """Return a summary as LaTeX, one table per metric."""
    return "\n".join(map(_latex, summary_grids(summary))).encode()


@dataclass(frozen=True)
class Cell:
    """One cell of a grid: mean and standard deviation of the error and of the alignment, as text."""

    error: str
    alignment: str
    best: bool

    def shown(self) -> str:
        """Return the cell in the markup of rich, for a terminal."""
        return f"[bold]{self.error}[/bold]\n{self.alignment}" if self.best else f"{self.error}\n{self.alignment}"


LEFT_OUT = Cell("-", "", best=False)


@dataclass(frozen=True)
class Grid:
    """Results of all methods (rows) on all datasets (columns) in one metric."""

    title: str
    methods: list[str]
    datasets: list[str]
    cells: dict[tuple[str, str], Cell]

    def row(self, method: str) -> list[Cell]:
        """Return the cells of a method, which may be left out for some datasets."""
        return [self.cells.get((method, dataset), LEFT_OUT) for dataset in self.datasets]


def summary_grids(summary: pd.DataFrame) -> list[Grid]:
    """Arrange a summary by method and dataset, one grid per metric."""
    grids = []
    for metric in summary["metric"].unique():
        records = summary[summary["metric"] == metric].to_dict("records")
        datasets = list(dict.fromkeys(str(record["dataset"]) for record in records))
        least = summary[summary["metric"] == metric].groupby("dataset")["error_mean"].min().to_dict()
        grids.append(
            Grid(
                title=f"{_title(metric)} {CAPTION.format(trials=max(record['trials'] for record in records))}",
                methods=list(dict.fromkeys(str(record["method"]) for record in records)),
                datasets=datasets,
                cells={
                    (str(record["method"]), str(record["dataset"])): Cell(
                        error=_plus_minus(record["error_mean"], record["error_sd"], FAILED),
                        alignment=_plus_minus(record["alignment_test_mean"], record["alignment_test_sd"], UNDEFINED),
                        best=record["error_mean"] == least[str(record["dataset"])],
                    )
                    for record in records
                },
            )
        )
    return grids


def _title(metric: str) -> str:
    """Return the title of a metric, such as "Regression: RMSE"."""
    found = METRICS[metric]
    return f"{' and '.join(found.problems).capitalize()}: {found.title}"


def _plus_minus(mean: float, deviation: float, without: str) -> str:
    """Return mean and standard deviation with three decimals, as in the paper, or three digits if small or large.

    The standard deviation of a single trial is not defined and is left out.
    """
    if pd.isna(mean):
        return without
    style = ".3f" if 0.01 <= abs(mean) < 10 or mean == 0 else ".1f" if 10 <= abs(mean) < 10_000 else ".3g"
    return f"{mean:{style}}" if pd.isna(deviation) else f"{mean:{style}} ± {deviation:{style}}"


def _markdown(grid: Grid) -> str:
    lines = [
        f"{grid.title}.",
        "",
        "| method | " + " | ".join(grid.datasets) + " |",
        "|---" * (len(grid.datasets) + 1) + "|",
    ]
    for method in grid.methods:
        cells = grid.row(method)
        lines.append(f"| {method} | " + " | ".join(f"{cell.error}<br>{cell.alignment}" for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _latex(grid: Grid) -> str:
    def math(text: str) -> str:
        return "$" + text.replace("±", r"\pm") + "$" if "±" in text else text

    def escaped(name: str) -> str:
        return name.replace("_", r"\_")

    lines = [
        f"% {grid.title}",
        r"\begin{tabular}{l" + "c" * len(grid.datasets) + "}",
        r"\hline",
        " & ".join(["", *map(escaped, grid.datasets)]) + r" \\",
        r"\hline",
    ]
    for method in grid.methods:
        cells = grid.row(method)
        lines += [
            " & ".join([escaped(method), *(math(cell.error) for cell in cells)]) + r" \\",
            " & ".join(["", *(math(cell.alignment) for cell in cells)]) + r" \\",
            r"\hline",
        ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
