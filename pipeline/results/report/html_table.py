"""Define the tables of the report as values, which the template turns into HTML."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class HtmlCell:
    """One cell of an HTML table."""

    text: str
    below: str = ""
    """Second line of the cell, in a smaller font."""
    order: float | None = None
    """Number by which rows are sorted; None to sort by the text."""
    is_best: bool = False
    is_close: bool = False
    """Whether the value cannot be distinguished from the best one."""


@dataclass(frozen=True)
class HtmlTable:
    """One table of the report."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[HtmlCell]]
    caption: str = ""
    text_columns: int = 1
    """Number of leading columns that contain text; the others contain numbers, which are aligned to the right."""


def text_cells(*values: object) -> list[HtmlCell]:
    """Return values as cells of text.

    >>> [cell.text for cell in text_cells("wave", 3)]
    ['wave', '3']
    """
    return [HtmlCell(str(value)) for value in values]


def integer_cell(value: int | None) -> HtmlCell:
    """Return a cell with an integer, with thousands separators; empty for None.

    >>> integer_cell(4000).text, integer_cell(None).text
    ('4,000', '')
    """
    return HtmlCell("") if value is None else HtmlCell(f"{value:,}", order=value)
