"""The summary: mean and standard deviation over trials, printed as the paper prints them."""

from pathlib import Path

import pandas as pd
from rich.console import Console
from rich.table import Table

from pipeline.files import write_whole
from pipeline.layout import RESULTS

MEASURES = ("error", "alignment_test", "alignment_train")
TITLES = {
    "rmse": "Regression: RMSE",
    "misclassification": "Classification: misclassification rate",
}
CAPTION = "above, alignment on the test fold below; mean ± standard deviation over {trials} trials"


def summarise(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a dataset, task and method, in the order of the rows; trials that failed are counted and left out."""
    keys = ["dataset", "task", "metric", "method"]
    groups = rows.groupby(keys, sort=False)
    columns: dict[str, pd.Series] = {
        "trials": groups.size(),
        "failed": groups["status"].agg(lambda status: int((status != "ok").sum())),
    }
    for measure in MEASURES:
        columns[f"{measure}_mean"] = groups[measure].mean()
        columns[f"{measure}_sd"] = groups[measure].std(ddof=1)
    return pd.DataFrame(columns).reset_index()


def write_summary(root: Path, summary: pd.DataFrame) -> None:
    """Write the summary as CSV, Markdown and LaTeX."""
    results = root / RESULTS
    write_whole(results / "summary.csv", str(summary.to_csv(index=False, lineterminator="\n")))
    grids = _grids(summary)
    write_whole(results / "summary.md", "\n".join(_markdown(title, grid) for title, grid in grids))
    write_whole(results / "summary.tex", "\n".join(_latex(title, grid) for title, grid in grids))


def print_summary(console: Console, summary: pd.DataFrame) -> None:
    """Show one table a metric on a terminal, the least error of each dataset in bold."""
    for title, grid in _grids(summary):
        table = Table(title=title, title_justify="left", show_lines=True)
        table.add_column("method")
        for dataset in grid.columns:
            table.add_column(str(dataset), justify="right")
        least = summary.groupby("dataset")["error_mean"].min()
        best = {
            (row.dataset, row.method) for row in summary.itertuples() if row.error_mean == least[row.dataset]
        }
        for method, cells in grid.iterrows():
            shown = [
                f"[bold]{cell[0]}[/bold]\n{cell[1]}" if (dataset, method) in best else "\n".join(cell)
                for dataset, cell in cells.items()
            ]
            table.add_row(str(method), *shown)
        console.print(table)


def _grids(summary: pd.DataFrame) -> list[tuple[str, pd.DataFrame]]:
    """A title and a grid of methods by datasets for each metric; a cell is (error, alignment)."""
    grids = []
    for metric, part in summary.groupby("metric", sort=False):
        cells = part.assign(
            cell=[
                (_plus_minus(row.error_mean, row.error_sd), _plus_minus(row.alignment_test_mean, row.alignment_test_sd))
                for row in part.itertuples()
            ]
        )
        grid = cells.pivot(index="method", columns="dataset", values="cell")
        grid = grid.loc[part["method"].unique(), part["dataset"].unique()]
        trials = int(part["trials"].max())
        grids.append((f"{TITLES[str(metric)]} {CAPTION.format(trials=trials)}", grid))
    return grids


def _plus_minus(mean: float, deviation: float) -> str:
    """Three digits behind the point, or four that count where numbers are large."""
    if pd.isna(mean):
        return "failed"
    digits = 3 if abs(mean) < 10 else 1
    return f"{mean:.{digits}f} ± {deviation:.{digits}f}"


def _markdown(title: str, grid: pd.DataFrame) -> str:
    lines = [f"{title}.", "", "| method | " + " | ".join(grid.columns) + " |", "|---" * (len(grid.columns) + 1) + "|"]
    lines += [
        f"| {method} | " + " | ".join("<br>".join(cell) for cell in cells) + " |"
        for method, cells in zip(grid.index, grid.to_numpy(), strict=True)
    ]
    return "\n".join(lines) + "\n"


def _latex(title: str, grid: pd.DataFrame) -> str:
    def math(cell: str) -> str:
        return cell if cell == "failed" else "$" + cell.replace("±", r"\pm") + "$"

    def text(name: str) -> str:
        return name.replace("_", r"\_")

    lines = [
        f"% {title}",
        r"\begin{tabular}{l" + "c" * len(grid.columns) + "}",
        r"\hline",
        " & ".join(["", *map(text, grid.columns)]) + r" \\",
        r"\hline",
    ]
    for method, cells in zip(grid.index, grid.to_numpy(), strict=True):
        lines += [
            " & ".join([text(method), *(math(cell[0]) for cell in cells)]) + r" \\",
            " & ".join(["", *(math(cell[1]) for cell in cells)]) + r" \\",
            r"\hline",
        ]
    return "\n".join([*lines, r"\end{tabular}"]) + "\n"
