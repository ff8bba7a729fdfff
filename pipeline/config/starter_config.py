"""Write a config to start from for a data file, with the keys that its columns need."""

import csv
import gzip
import json
import re
import zlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from kernel_pipeline.field_counts import WHITESPACE, find_separator
from kernel_pipeline.text import DATE, NUMBER

INDEX_NAMES = ("id", "index", "row", "rownames", "row_id")
MIN_INDEX_ROWS = 10
"""Minimum number of rows for which distinct values are considered an index; with fewer, they may be a coincidence."""
MIN_DISTINCT_FRACTION = 0.9
"""A text column with at least this fraction of distinct values looks like an index."""
MIN_CATEGORIES_PER_ROW = 0.5
"""A text column with at least this number of distinct values per row has too many for a one-hot encoding."""
MIN_CATEGORIES = 20
"""Minimum number of distinct values of such a column."""
MIN_NUMBERS = 0.8
"""A column with at least this fraction of numbers is not text; one with at least this fraction of dates has dates."""
MAX_CLASSES = 10
"""A target of more different numbers is proposed for a regression."""
MAX_ROWS = 100_000
"""Number of rows that are read."""
GAPS = ("", "?", "nan", "NaN", "NA", "N/A")
DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+")
OTHER_TABLES = ("parquet", "feather", "arff")
"""Formats of tables that may have text and gaps, and that are not read here."""


def _line(setting: str, comment: str) -> str:
    """Return a line of a config, with a comment."""
    return f"{setting:32} # {comment}"


DEFAULT_TARGET = _line("target = -1", "the last column, or its name")
ENCODE = _line('encode = "onehot"', "text columns become columns of zeros and ones")
MISSING = _line('missing = "mean"', "impute means or the most frequent text; leave out rows without a label")


@dataclass(frozen=True)
class _Column:
    """A column of a table."""

    key: str
    """Its name or number, as in a config."""
    name: str
    cells: Sequence[str]
    """The cells that are not empty."""
    has_gaps: bool

    @property
    def is_text(self) -> bool:
        """Whether most cells are not numbers."""
        return sum(map(_is_number, self.cells)) < MIN_NUMBERS * len(self.cells)

    @property
    def is_date(self) -> bool:
        """Whether most cells are dates."""
        return sum(bool(DATE.fullmatch(cell)) for cell in self.cells) >= MIN_NUMBERS * len(self.cells) > 0

    @property
    def has_many_categories(self) -> bool:
        """Whether a one-hot encoding makes too many features of the column."""
        return self.is_text and len(set(self.cells)) >= max(MIN_CATEGORIES, MIN_CATEGORIES_PER_ROW * len(self.cells))

    @property
    def is_index(self) -> bool:
        """Whether the column seems to identify the rows, judging by its name or its values."""
        if not self.cells:
            return False
        if self.name.strip().casefold() in INDEX_NAMES:
            return True
        distinct = set(self.cells)
        if len(self.cells) < MIN_INDEX_ROWS:
            return False
        if self.is_text:
            return len(distinct) >= MIN_DISTINCT_FRACTION * len(self.cells)
        if not all(cell.isdecimal() for cell in distinct) or len(distinct) < len(self.cells):
            return False
        numbers = list(map(int, distinct))
        return max(numbers) - min(numbers) == len(numbers) - 1


def starter_config(path: Path, format_name: str) -> tuple[str, str]:
    """Return the name of a config to start from, and the config, with the keys that a readable text file needs."""
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name.partition(".")[0]).strip("-_") or "data"
    task, keys = "classification", [DEFAULT_TARGET]
    if format_name in OTHER_TABLES:
        keys += [ENCODE, MISSING]
    elif format_name in ("csv", "table"):
        with suppress(OSError, UnicodeError, EOFError, csv.Error, zlib.error):  # reported when the config is used
            task, keys = _table_keys(path, format_name)
    other = "regression" if task == "classification" else "classification"
    lines = [
        f'name = "{name}"',
        'methods = ["unif", "align", "alignf"]',
        "",
        "[[dataset]]",
        f'name = "{name}"',
        _line(f'task = "{task}"', f'or "{other}"'),
        'source = "file"',
        f"path = {json.dumps(path.name, ensure_ascii=False)}",
        f'format = "{format_name}"',
        *keys,
        'scale = "standard"',
        'kernels = [{ family = "gaussian", log2_gamma = [-9, 0] }]',
    ]
    return name, "".join(f"{line}\n" for line in lines)


def _table_keys(path: Path, format_name: str) -> tuple[str, list[str]]:
    """Return the task, and the lines about the columns of a text file."""
    lines, keys = _lines(path)
    separator = WHITESPACE if format_name == "table" else find_separator(lines[:20], ".") or ","
    if separator == WHITESPACE:
        rows = [line.split() for line in lines]
    else:
        rows = list(csv.reader(lines, delimiter=separator, skipinitialspace=True))
    rows = [[cell.strip() for cell in row] for row in rows if row]
    if separator != "," and any(DECIMAL_COMMA.fullmatch(cell) for row in rows for cell in row):
        keys.append(_line('decimal = ","', "numbers such as 5,4"))
    columns = _columns(rows)
    if len(columns) < 2:
        return "classification", [*keys, DEFAULT_TARGET]
    *features, target = columns
    named = _line(f"target = {target.key}", "the last column; name another one to predict it")
    keys.append(named if target.name else DEFAULT_TARGET)
    dates = [column for column in features if column.is_date]
    index = [column for column in features if column.is_index and column not in dates]
    texts = [column for column in features if column.has_many_categories and column not in (*dates, *index)]
    dropped = {
        "dates (to use them, replace them by numbers, such as days)": dates,
        "identifiers or comments": [*index[1:], *texts],
        "empty": [column for column in features if not column.cells],
    }
    used = [column for column in features if column not in chain(index, *dropped.values())]
    if any(column.is_text for column in used):
        keys.append(ENCODE)
    if any(column.has_gaps for column in (*used, target)):
        keys.append(MISSING)
    if index:
        keys.append(_line(f"index = {index[0].key}", "identifies the rows, so it is not a feature"))
    if reasons := [reason for reason, columns in dropped.items() if columns]:
        listed = ", ".join(column.key for columns in dropped.values() for column in columns)
        keys.append(_line(f"drop = [{listed}]", f"not features: {', '.join(reasons)}"))
    is_regression = not target.is_text and len(set(target.cells)) > MAX_CLASSES
    return "regression" if is_regression else "classification", keys


def _lines(path: Path) -> tuple[list[str], list[str]]:
    """Return the first lines of a file that are not blank, and a line for its encoding if it is not UTF-8."""
    opened = gzip.open if path.suffix.lower() == ".gz" else open
    for encoding in ("utf-8-sig", "latin-1"):
        try:
            with opened(path, "rt", encoding=encoding) as file:
                lines = [line for line in islice(file, MAX_ROWS) if line.strip()]
        except UnicodeDecodeError:
            continue
        if any("\0" in line for line in lines):
            raise UnicodeError("the file is binary, or in UTF-16")
        return lines, ['encoding = "latin-1"'] if encoding == "latin-1" else []
    raise AssertionError("latin-1 decodes all bytes")


def _columns(rows: Sequence[Sequence[str]]) -> list[_Column]:
    """Return the columns of a table whose first row may contain their names."""
    if len(rows) < 2:
        return []
    below = [_cells(rows[1:], place) for place in range(len(rows[0]))]
    has_header = not any(map(_is_number, rows[0])) and any(
        sum(map(_is_number, cells)) >= MIN_NUMBERS * len(cells) > 0 for cells in below
    )
    body = rows[1:] if has_header else rows
    columns = []
    for place, name in enumerate(rows[0]):
        cells = _cells(body, place)
        key = json.dumps(name, ensure_ascii=False) if has_header and name else str(place)
        columns.append(_Column(key, name if has_header else "", cells, has_gaps=len(cells) < len(body)))
    return columns


def _cells(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    """Return the cells of a column that are not empty."""
    return [row[place] for row in rows if place < len(row) and row[place] not in GAPS]


def _is_number(cell: str) -> bool:
    return bool(NUMBER.fullmatch(cell) or DECIMAL_COMMA.fullmatch(cell))
