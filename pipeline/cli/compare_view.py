"""Show how a run compares with the paper or with another run."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.config.loading import differences, load_toml, parse_config, shipped_configs
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.results.markup import markdown_table, short_number
from kernel_pipeline.results.paper_comparison import compare_with_paper, compared_frame
from kernel_pipeline.results.paper_tables import paper_numbers
from kernel_pipeline.results.paper_text import EXPLANATION, TextTable, agreement, comparison_tables
from kernel_pipeline.results.report.comparison_section import ComparisonSection
from kernel_pipeline.results.run_comparison import compare_runs, mean_differences
from kernel_pipeline.run.data_differences import data_differences
from kernel_pipeline.run.finished_tables import FinishedRows, read_finished_rows
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import printable

PAPER_CONFIGS = ("paper-gaussian", "paper-sentiment")
"""Shipped configs whose datasets and methods are named as in `paper-tables.csv`, the file of the paper's numbers."""
MEASURES = ("error", "alignment")


@dataclass(frozen=True)
class ComparisonView:
    """A comparison as a DataFrame with one row per number or cell, and as text: tables and sentences."""

    frame: pd.DataFrame
    tables: Sequence[TextTable]
    sentences: Sequence[str]
    notes: Sequence[str]
    """Remarks about the runs, such as missing results."""

    def markdown(self) -> str:
        """Return the comparison as Markdown."""
        parts = [f"{table.title}.\n\n{markdown_table(table.heading, table.rows)}" for table in self.tables]
        return "\n".join([*parts, "".join(f"- {line}\n" for line in self.sentences)])

    def section(self, root: Storage, other: Storage | None) -> ComparisonSection:
        """Return the comparison as a section of the report; `other` is None for a comparison with the paper."""
        title = f"{root} compared with {other or 'the paper'}"
        return ComparisonSection.of("comparison", title, [*self.sentences, *self.notes], self.tables)

    def print(self, console: Console) -> None:
        """Print the comparison on a terminal."""
        for table in self.tables:
            print_line(console, f"\n{table.title}")
            shown = Table()
            for number, name in enumerate(table.heading):
                shown.add_column(escape(printable(name)), justify="left" if number < table.name_columns else "right")
            for row in table.rows:
                shown.add_row(*(escape(printable(cell)) for cell in row))
            console.print(shown)
        for line in self.sentences:
            print_line(console, line)


def with_paper(root: Storage) -> ComparisonView:
    """Compare the results of a run with Tables 1 to 5 of the paper.

    Raises
    ------
    PipelineError
        If the tables have no number that the run covers.
    """
    run = read_finished_rows(root)
    numbers = compare_with_paper(run.rows, run.correlation)
    if not numbers:
        names = dict.fromkeys(number.key.dataset for number in paper_numbers())
        raise PipelineError(
            f"{root} has no result for the paper's Tables 1 to 5, which cover the datasets {', '.join(names)}. "
            f"Run one of the configs {', '.join(PAPER_CONFIGS)} (`pipeline configs`)"
        )
    return ComparisonView(
        compared_frame(numbers),
        comparison_tables(numbers),
        [f"{EXPLANATION}.", *agreement(numbers)],
        [*run.notes, *_config_notes(run)],
    )


def two_runs(first_root: Storage, second_root: Storage) -> ComparisonView:
    """Compare the results and the configs of two runs.

    Raises
    ------
    PipelineError
        If the runs have no cell in common.
    """
    first, second = read_finished_rows(first_root), read_finished_rows(second_root)
    changes = differences(first.config, second.config)
    found = compare_runs(first.rows, second.rows)
    if found.cells.empty:
        reason = (
            "\n  ".join(["Their configs differ:", *changes]) if changes else "Resume the runs with `pipeline resume`"
        )
        raise PipelineError(
            f"{first_root} and {second_root} have no finished cell in common: no combination of dataset, task, "
            f"metric, method and trial is in both. {reason}"
        )
    sentences = [
        f"{found.n_equal:,} of {len(found.cells):,} common cells have equal errors and alignments; the largest "
        f"difference is {found.max_abs_difference('error'):.2g} in an error and "
        f"{found.max_abs_difference('alignment'):.2g} in an alignment.",
        *_only(first_root, found.only_a),
        *_only(second_root, found.only_b),
        f"The configs differ ({first_root} -> {second_root}):" if changes else "The configs are equal.",
        *(f"  {line}" for line in changes),
        *data_differences(read_manifest(first_root), read_manifest(second_root)),
    ]
    tables = [_means_table(mean_differences(found.cells), measure, first_root, second_root) for measure in MEASURES]
    return ComparisonView(found.cells, tables, sentences, [*first.notes, *second.notes])


def _only(root: Storage, cells: int) -> list[str]:
    return [f"Finished cells that are only in {root}: {cells:,}."] if cells else []


def _means_table(means: pd.DataFrame, measure: str, first: Storage, second: Storage) -> TextTable:
    names = ["a", "b", "difference", "largest"]
    return TextTable(
        f"Mean {measure} over common trials: a is {first}, b is {second}; difference is b - a, and largest is the "
        "largest absolute difference in one trial",
        heading=["dataset", "task", "method", "trials", *names],
        rows=[
            [
                *(str(row[name]) for name in ("dataset", "task", "method", "trials")),
                *(short_number(float(row[f"{measure}_{name}"])) for name in names),
            ]
            for row in means.to_dict("records")
        ],
        name_columns=3,
    )


def _config_notes(run: FinishedRows) -> list[str]:
    """Return notes about differences from the shipped config, or one note if the config is not one of the paper's."""
    name = run.config.name
    if name not in PAPER_CONFIGS:
        known = ", ".join(PAPER_CONFIGS)
        return [f"note: the config {name!r} is not one of {known}; datasets and methods are matched by name"]
    shipped = parse_config(load_toml(shipped_configs()[name]), name)
    changes = differences(shipped, run.config)
    return [f"note: the config differs from the shipped one: {line}" for line in changes]
