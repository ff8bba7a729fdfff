"""Read views from files of tables: each column must consist of numbers, and there is no config with options."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from kernel_pipeline.config.other_formats import EXTENSIONS
from kernel_pipeline.data.column_notes import UNNAMED, index_reason
from kernel_pipeline.data.formats.delimited import read_lines
from kernel_pipeline.data.formats.format import FORMATS, FileContentError, Format, ReadOptions
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.text import counted, short_line

SEPARATORS = {".csv": None, ".tsv": "\t"}
"""Separators of text files; None if it is detected."""
DECIMAL_COMMA_SEPARATORS = (";", "\t")
"""Separators of columns in files whose numbers have decimal commas."""
MIN_NUMBERED_COLUMNS = 3
"""Minimum number of consecutive integers in a header; fewer are likely to be a sample as well."""
MAX_SHOWN = 3
"""Maximum number of cells of the first line in a message."""
LEADING_ZERO = r"-?0\d+|-0"
"""Integers that are the digits after a decimal comma, or those before it."""


@dataclass(frozen=True)
class ViewTable:
    """A view that was read from a file."""

    frame: pd.DataFrame
    """One row per sample; all columns are finite numbers."""
    first_line: str = ""
    """How the first line was read, if it consists of numbers."""
    notes: tuple[str, ...] = ()
    """Other remarks for the user."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return all remarks, including that about the first line."""
        return (*([self.first_line] if self.first_line else ()), *self.notes)


def view_extensions() -> list[str]:
    """Return the extensions of tables that `read_view` reads: the formats without a target, and without options."""
    formats = {suffix: FORMATS[name] for suffix, name in EXTENSIONS.items()}
    plain = [suffix for suffix, entry in formats.items() if entry.detect is None and not entry.marks_target]
    return [*SEPARATORS, *plain]


def read_view(path: Path) -> ViewTable:
    """Read a table of numbers.

    Raises
    ------
    DataError
        If the file cannot be read, or has text, missing values, infinity, or a column without a name. The message
        names the file, the column and the row.
    """
    entry = FORMATS[EXTENSIONS[path.suffix]]
    try:
        frame, first_line, notes = (
            _read_text(path, entry)
            if path.suffix in SEPARATORS
            else (entry.read(path, ReadOptions(path.name, has_config=False)), "", ())
        )
        _check_numbers(frame, path)
        _check_finite(frame)
        return ViewTable(frame, first_line, (*notes, *_index_notes(frame, path)))
    except Exception as error:  # readers raise exceptions of many types
        reason = str(error).strip().rstrip(".") or "no data found"
        if not isinstance(error, FileContentError):
            reason += ". Save the file again"
        raise DataError(f"cannot read {path}: {reason}") from None


def _read_text(path: Path, entry: Format) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Return the table of a text file, how its first line was read, and notes.

    Raises
    ------
    FileContentError
        If lines have different numbers of fields, or numbers have decimal commas.
    """
    assert entry.detect is not None
    try:
        given = ReadOptions(path.name, separator=SEPARATORS[path.suffix], has_config=False)
        options = entry.detect(path, given).options
        frame = entry.read(path, options)
        is_text = any(not pd.api.types.is_numeric_dtype(frame[column]) for column in frame)
    except FileContentError as error:
        if advice := _decimal_comma_advice(path, entry):
            raise FileContentError(f"{error}; {advice}") from None
        raise
    if (is_text or _has_split_numbers(frame, path, options)) and (advice := _decimal_comma_advice(path, entry)):
        raise FileContentError(advice)
    notes: tuple[str, ...] = ()
    if path.suffix == ".csv" and options.separator != ",":
        notes = (f"the columns of {path.name} are read as separated by {options.separator!r}",)
    if options.header:
        return frame, "", notes
    frame, first_line = _with_numbered_header(frame, path)
    return frame, first_line, notes


def _decimal_comma_advice(path: Path, entry: Format) -> str:
    """Return what to do if the whole file consists of numbers with decimal commas; otherwise, return \"\"."""
    assert entry.detect is not None
    for separator in DECIMAL_COMMA_SEPARATORS:
        options = ReadOptions(path.name, separator=separator, decimal=",", has_config=False)
        try:
            detected = entry.detect(path, options).options
            frame = entry.read(path, detected)
        except FileContentError:
            continue
        if all(map(pd.api.types.is_numeric_dtype, frame.dtypes)) and not any("," in str(column) for column in frame):
            how = _how_to_write_points(frame, path, detected)
            return f"its numbers seem to have decimal commas. Save it with decimal points{how}"
    return ""


def _how_to_write_points(frame: pd.DataFrame, path: Path, options: ReadOptions) -> str:
    """Return the end of a sentence about decimal commas: how to write a file with decimal points in Python."""
    header, prefix = "", ""
    if not options.header:
        try:
            has_header = len(_with_numbered_header(frame, path)[0]) < len(frame)
        except FileContentError:
            return ", and with names of the columns, such as x0, in its first line"
        if not has_header:
            header, prefix = ", header=None", ".add_prefix('x')"
    return (
        f"; in Python: pd.read_csv({path.name!r}, sep={options.separator!r}, decimal=','{header}){prefix}"
        ".to_csv('points.csv', index=False)"
    )


def _has_split_numbers(frame: pd.DataFrame, path: Path, options: ReadOptions) -> bool:
    """Return whether commas seem to be decimal: all columns are integers, and some begin with 0, as in 0,05."""
    if options.separator != "," or not all(pd.api.types.is_integer_dtype(frame[column]) for column in frame):
        return False
    fields = pd.Series(read_lines(path, options)).str.split(",").explode().str.strip()
    return bool(fields.str.fullmatch(LEADING_ZERO).any())


def _with_numbered_header(frame: pd.DataFrame, path: Path) -> tuple[pd.DataFrame, str]:
    """Return a table that was read without a header, and how its first line was read.

    A first line of consecutive integers, such as 0, 1, 2, is the header that pandas writes for columns without names.

    Raises
    ------
    FileContentError
        If such a line may be a sample as well.
    """
    if frame.empty:
        return frame, ""
    first = pd.to_numeric(frame.iloc[0], errors="coerce").to_numpy(np.float64)
    unnamed = int(len(first) > 1 and np.isnan(first[0]))  # the index has no name
    numbers = first[unnamed:]
    if numbers[0] not in (0, 1) or not (numbers == numbers[0] + np.arange(len(numbers))).all():
        return frame, f"the first line of {path.name} is read as a sample, since it has no names of columns"
    names = [f"{number:.0f}" for number in numbers]
    shown = list_first(names, MAX_SHOWN)
    below = frame.iloc[1:, unnamed:].apply(pd.to_numeric, errors="coerce").to_numpy(np.float64)
    if not unnamed and (len(names) < MIN_NUMBERED_COLUMNS or (below == np.floor(below)).all()):
        raise FileContentError(
            f"its first line ({shown}) may be a header or a sample. If it is a header, replace the numbers by names, "
            "such as x0; if it is a sample, add a line with such names above it"
        )
    frame = frame.iloc[1:].reset_index(drop=True).set_axis([*["Unnamed: 0"] * unnamed, *names], axis=1)
    return frame, f"the first line of {path.name} ({shown}) is read as a header, since its numbers are consecutive"


def _check_numbers(frame: pd.DataFrame, path: Path) -> None:
    """Raise a `FileContentError` that names the first cell that is not a number."""
    for column in frame:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values):
            continue
        is_text = pd.to_numeric(values.astype(object), errors="coerce").isna() & values.notna()
        row = int(is_text.to_numpy().argmax())
        cell = values.iloc[row]
        shown = f"{'text: ' if isinstance(cell, str) else ''}{short_line(str(cell))!r}"
        form = " with decimal points, separated by commas, semicolons or tabs" if path.suffix in SEPARATORS else ""
        raise FileContentError(
            f"column {_named(column)} contains {shown} in data row {row + 1}, but a view consists of columns of numbers"
            f"{form}. Correct the cell, or remove columns that are not numbers from the file"
        )


def _check_finite(frame: pd.DataFrame) -> None:
    """Raise a `FileContentError` that names the first missing value or infinity."""
    finite = np.isfinite(frame.to_numpy(np.float64, na_value=np.nan))
    if finite.all():
        return
    place = int(np.argmin(finite.all(axis=0)))
    column, values = frame.columns.tolist()[place], frame.iloc[:, place]
    if values.isna().all():
        raise FileContentError(
            f"column {_named(column)} has no values. Remove it from the file; in a text file, also the separator at "
            "the end of each line"
        )
    row = int(np.argmin(finite[:, place]))
    what = "a missing value" if pd.isna(values.iloc[row]) else f"the value {values.iloc[row]}"
    rows = counted(int((~finite.all(axis=1)).sum()), "row has", "rows have")
    raise FileContentError(
        f"column {_named(column)} contains {what} in data row {row + 1}; {rows} missing or infinite values. Remove "
        "these rows from all files, which must have the same samples, or replace the values"
    )


def _index_notes(frame: pd.DataFrame, path: Path) -> tuple[str, ...]:
    """Return a note about each column that looks like an index.

    Raises
    ------
    FileContentError
        If a column without a name looks like an index, as `DataFrame.to_csv` writes it.
    """
    notes = []
    for column in frame:
        if not (reason := index_reason(frame[column], one_hot=False)):
            continue
        if str(column).strip().casefold().startswith(UNNAMED):
            raise FileContentError(
                f"column {column!r} has no name in the file, so it seems to be an index. Remove it, with index=False "
                "in DataFrame.to_csv; if it is a feature, give it a name"
            )
        notes.append(
            f"column {_named(column)} of {path.name} looks like an index ({reason}), but is used as a feature; remove "
            "it from the file to leave it out"
        )
    return tuple(notes)


def _named(column: Hashable) -> str:
    """Return the name of a column, or its number in a file without a header."""
    return f"number {column}" if isinstance(column, int) else repr(column)
