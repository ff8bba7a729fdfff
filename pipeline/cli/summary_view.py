"""Print the summary of a run on a terminal."""

import pandas as pd
from rich.console import Console
from rich.table import Table

from kernel_pipeline.results.summary import summary_grids


def print_summary(console: Console, summary: pd.DataFrame) -> None:
    """Print one table per metric, with the smallest error of each dataset in bold."""
    for grid in summary_grids(summary):
        console.print(f"\n{grid.title}", highlight=False, soft_wrap=True)
        table = Table(show_lines=True)
        table.add_column("method")
        for dataset in grid.datasets:
            table.add_column(dataset, justify="right")
        for method in grid.methods:
            table.add_row(method, *(cell.shown() for cell in grid.row(method)))
        console.print(table)


def print_correlation(console: Console, correlation: pd.DataFrame) -> None:
    """Print the correlations of alignment and accuracy of single kernels, as in the paper's Table 1."""
    console.print("\nBase kernels alone: correlation of alignment and accuracy", highlight=False, soft_wrap=True)
    table = Table()
    for heading in ("dataset", "task", "kernels", "centered", "uncentered"):
        table.add_column(heading, justify="left" if heading in ("dataset", "task") else "right")
    for row in correlation.itertuples():
        table.add_row(str(row.dataset), str(row.task), str(row.kernels), f"{row.centered:.3f}", f"{row.uncentered:.3f}")
    console.print(table)
