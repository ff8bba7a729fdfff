"""Define the section of the report that compares a run with the paper or with another run."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from kernel_pipeline.results.paper_comparison import compare_with_paper
from kernel_pipeline.results.paper_text import EXPLANATION, TextTable, agreement, comparison_tables
from kernel_pipeline.results.report.html_table import HtmlTable, text_cells


@dataclass(frozen=True)
class ComparisonSection:
    """One comparison as a section of the page."""

    id: str
    title: str
    sentences: Sequence[str]
    tables: Sequence[HtmlTable]

    @classmethod
    def of(cls, name: str, title: str, sentences: Sequence[str], tables: Sequence[TextTable]) -> "ComparisonSection":
        """Return a section with tables of text as HTML tables.

        Parameters
        ----------
        name
            Identifier of the section on the page.
        """
        converted = [
            HtmlTable(tuple(table.heading), [text_cells(*row) for row in table.rows], table.title, table.name_columns)
            for table in tables
        ]
        return cls(name, title, sentences, converted)


def paper_section(rows: pd.DataFrame, correlation: pd.DataFrame | None) -> ComparisonSection | None:
    """Compare the finished cells of a run with the paper's Tables 1 to 5; None if the paper has no number for them."""
    numbers = compare_with_paper(rows, correlation)
    if not numbers:
        return None
    sentences = [f"{EXPLANATION}.", *agreement(numbers)]
    return ComparisonSection.of("paper", "Comparison with the paper", sentences, comparison_tables(numbers))
