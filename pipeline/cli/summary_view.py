"""Print the summary of a run on a terminal."""

import pandas as pd
from rich.console import Console
from rich.table import Table

from kernel_pipeline.results.best_methods import best_methods
from kernel_pipeline.results.paired_tests import LEVEL
from kernel_pipeline.results.summary import summary_tables
from kernel_pipeline.results.unif_sentences import unif_sentences

MARK = "*"
EXPLANATION = (
    f"{MARK} the best method (bold) and all that cannot be distinguished from it: corrected resampled t-test, adjusted "
    f"for all pairs of methods, level {LEVEL:g}"
)


def print_summary(console: Console, summary: pd.DataFrame, comparison: pd.DataFrame | None) -> None:
    """Print one table per metric, and sentences that state which methods are best, and which are better than `unif`.

    The smallest error of each dataset is in bold. It is marked, as are the errors of all methods that cannot be
    distinguished from the best one. Without comparisons, there are neither marks nor sentences.
    """
    found = [] if comparison is None else best_methods(summary, comparison)
    marked = {
        (best.metric, best.dataset, method) for best in found for method in (best.method, *best.indistinguishable)
    }
    for table in summary_tables(summary):
        console.print(f"\n{table.title}", highlight=False, soft_wrap=True)
        shown = Table(show_lines=True)
        shown.add_column("method")
        for dataset in table.datasets:
            shown.add_column(dataset, justify="right")
        for method in table.methods:
            marks = [MARK if (table.metric, dataset, method) in marked else "" for dataset in table.datasets]
            cells = zip(table.row(method), marks, strict=True)
            shown.add_row(method, *(cell.shown(mark) for cell, mark in cells))
        console.print(shown)
        if table.footnote:
            console.print(table.footnote, highlight=False, soft_wrap=True, markup=False)
    if found:
        console.print(EXPLANATION, highlight=False, soft_wrap=True)
    sentences = [f"{best.dataset}, {best.problem}: {best.sentence}" for best in found]
    for sentence in sentences + ([] if comparison is None else unif_sentences(comparison)):
        console.print(sentence, highlight=False, soft_wrap=True, markup=False)


def print_correlation(console: Console, correlation: pd.DataFrame) -> None:
    """Print the correlations of alignment and accuracy of single kernels, as in Table 1 of the paper."""
    console.print("\nSingle base kernels: correlation of alignment and accuracy", highlight=False, soft_wrap=True)
    table = Table()
    for heading in ("dataset", "task", "kernels", "centered", "uncentered"):
        table.add_column(heading, justify="left" if heading in ("dataset", "task") else "right")
    for row in correlation.itertuples():
        table.add_row(str(row.dataset), str(row.task), str(row.kernels), f"{row.centered:.3f}", f"{row.uncentered:.3f}")
    console.print(table)
