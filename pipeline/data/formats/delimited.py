"""Read text files with one row per line, whose columns are separated by a character or by whitespace."""

from __future__ import annotations

import codecs
import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from kernel_pipeline.data.formats.format import Detected, FileContentError, Format, ReadOptions, register
from kernel_pipeline.field_counts import WHITESPACE, count_fields, find_separator
from kernel_pipeline.text import NUMBER, counted

if TYPE_CHECKING:
    import pandas as pd

MISSING_VALUES = ["", "?", "nan", "NaN", "NA"]
"""Missing values in any column; the others of `column_encoding.MISSING_WORDS`, such as None, may be labels."""
ABSENT = "\x1f"
"""A character that does not occur in text, used as the separator to read a line as one cell."""
UNEVEN_LINE = re.compile(r"Expected (\d+) fields in line (\d+), saw (\d+)")
OPEN_QUOTE = re.compile(r"EOF inside string starting at row (\d+)")
"""Messages of pandas; a row is counted from 0 and may have several lines."""
EXCEL_FIXES = ("save it as csv, and set path to that file", "save it as csv")
BINARY_FILES = {
    b"PAR1\x15": ("it is a parquet file", "set format = 'parquet'", "give it the extension .parquet"),
    b"ARROW1\0": ("it is a feather file", "set format = 'feather'", "give it the extension .feather"),
    b"PK\x03\x04": ("it is an Excel workbook (xlsx) or another zip archive", *EXCEL_FIXES),
    b"\xd0\xcf\x11\xe0": ("it is an Excel workbook (xls)", *EXCEL_FIXES),
}
"""Files that are not text, by their first bytes: their kind, and what to do about data of a config and of a model."""
COMMON_ENCODINGS = ("utf-8", "latin-1", "utf-16")
LINES_OF_SEPARATOR = 20
"""Number of lines from which the separator is found."""
LINES_EXAMINED = 100
"""Number of lines from which it is decided whether the first line is a header."""


def _read(path: Path, options: ReadOptions) -> pd.DataFrame:
    frame = _parse(path, options, header=0 if options.header else None, low_memory=False)
    _check_short_rows(frame, path, options)
    return frame if options.decimal == "." else _with_decimal_points(frame, options)


def _check_short_rows(frame: pd.DataFrame, path: Path, options: ReadOptions) -> None:
    """Raise a `FileContentError` if rows have fewer fields than columns, which pandas fills with missing values.

    The fields are counted only if the last column has missing values, since it takes as long as reading the file.
    """
    width = frame.shape[1]
    is_dropped = width > 0 and not {frame.columns[-1], width - 1, -1}.isdisjoint(options.drop)
    if width < 2 or is_dropped or not frame.iloc[:, -1].isna().any():
        return
    try:
        counts = list(count_fields(read_lines(path, options), options.separator or ","))[int(bool(options.header)) :]
    except csv.Error:  # a cell is longer than the limit of the module csv
        return
    short = [row for row, count in enumerate(counts) if count < width]
    if not short or len(counts) != len(frame):  # the rows can differ if lines contain only tabs
        return
    empty = "empty cells need their separators" if options.separator != WHITESPACE else "write ? for an empty cell"
    raise FileContentError(
        f"data row {short[0] + 1} has {counted(counts[short[0]], 'field')}, but there are {width} columns; this is the "
        f"case in {len(short):,} of {len(frame):,} rows. Correct the file: {empty}"
    )


def _with_decimal_points(frame: pd.DataFrame, options: ReadOptions) -> pd.DataFrame:
    """Replace decimal commas in columns of numbers that pandas reads as text, since some of their cells are text.

    Raises
    ------
    FileContentError
        If a number in such a column has a point: it may separate thousands, so its value is not known.
    """
    import pandas as pd

    from kernel_pipeline.data.number_text import has_decimal_point, is_mostly_numbers, with_decimal_points

    for column in frame:
        values = frame[column]
        if pd.api.types.is_numeric_dtype(values) or column in options.drop or not is_mostly_numbers(values):
            continue
        if (points := has_decimal_point(values)).any():
            leave_out = f". To leave the column out, set drop = {[*options.drop, column]}"
            raise FileContentError(
                f"column {column!r} contains {values[points].iloc[0]!r} in data row {int(points.argmax()) + 1}, but "
                "decimal = ','. If points separate thousands, remove them from the file; if they are decimal points, "
                f"replace them by commas{leave_out if options.has_config else ''}"
            )
        frame[column] = with_decimal_points(values)
    return frame


def _parse(path: Path, options: ReadOptions, **arguments: Any) -> pd.DataFrame:
    import pandas as pd

    with warnings.catch_warnings(), _explain_parser(options):
        warnings.simplefilter("error", pd.errors.ParserWarning)  # rows that are longer than the header
        frame: pd.DataFrame = pd.read_csv(
            path,
            sep=options.separator,
            decimal=options.decimal,
            encoding=options.encoding,
            index_col=False,
            skip_blank_lines=True,
            keep_default_na=False,
            na_values=MISSING_VALUES,
            **{"skipinitialspace": True, **arguments},
        )
        return frame


@contextmanager
def _explain_parser(options: ReadOptions) -> Iterator[None]:
    """Raise an error that says what to correct if a file is empty, has uneven lines or has another encoding."""
    import pandas as pd

    try:
        yield
    except UnicodeError as error:
        fix = f"Set the encoding of the file, such as {_other_encodings(options.encoding)}"
        if not options.has_config:
            fix = f"Save the file with the encoding {options.encoding!r}"
        raise FileContentError(f"its encoding is not {options.encoding!r} ({error}). {fix}") from None
    except pd.errors.EmptyDataError:
        other = ", or set path to another file" if options.has_config else ""
        raise FileContentError(f"the file is empty. Save the table again{other}") from None
    except pd.errors.ParserError as error:
        raise FileContentError(_describe_parser_error(str(error), options)) from None


def _other_encodings(encoding: str) -> str:
    """Return common values of the key `encoding` that differ from a given one, for messages.

    >>> _other_encodings("UTF16")
    "encoding = 'utf-8' or encoding = 'latin-1'"
    """
    given = codecs.lookup(encoding).name
    others = [known for known in COMMON_ENCODINGS if codecs.lookup(known).name != given]
    return " or ".join(f"encoding = {known!r}" for known in others)


def _describe_parser_error(message: str, options: ReadOptions) -> str:
    """Describe an error of the parser of pandas, with the line and what to correct.

    >>> options = ReadOptions("data", separator=";")
    >>> _describe_parser_error("C error: Expected 8 fields in line 5, saw 9", options).partition(". ")[0]
    'line 5 has 9 fields, but the lines above it have at most 8'
    """
    if found := UNEVEN_LINE.search(message):
        expected, line, fields = found.groups()
        uneven = f"line {line} has {fields} fields, but the lines above it have at most {expected}"
        which = "one of these lines" if line == "2" else "the line"  # the first line may lack a name
        if options.separator == WHITESPACE:
            return f"{uneven}. Correct {which}; text that contains spaces must be in double quotes"
        other = ". If another character separates the columns, set separator" if options.has_config else ""
        return (
            f"{uneven}. Correct {which}; text and numbers that contain the separator {options.separator!r} must be in "
            f"double quotes{other}"
        )
    if found := OPEN_QUOTE.search(message):
        return (
            f"a double quote in line {int(found[1]) + 1} or below is not closed. Add the closing quote, or remove the "
            "quote"
        )
    other = ", or set format if it has another format" if options.has_config else ""
    return f"{message.strip().rstrip('.')}. Correct the file{other}"


def _check_text(path: Path, options: ReadOptions) -> None:
    """Raise a `FileContentError` if a file is of a known format that is not text; pandas decompresses zip itself."""
    with path.open("rb") as file:
        start = file.read(max(map(len, BINARY_FILES)))
    for first_bytes, (kind, in_config, for_model) in BINARY_FILES.items():
        if start.startswith(first_bytes) and path.suffix.lower() != ".zip":
            raise FileContentError(f"{kind}; {in_config if options.has_config else for_model}")


def _detect_csv(path: Path, options: ReadOptions) -> Detected:
    """Find the separator in the first lines, then detect the header."""
    if options.separator is not None:
        return _detect(path, options)
    _check_text(path, options)
    lines = read_lines(path, options, nrows=LINES_OF_SEPARATOR)
    found = find_separator(lines, options.decimal)
    if found is None and options.decimal == ",":
        if not options.has_config:
            raise FileContentError(
                "no character but the comma separates its columns, and the comma is the decimal separator. Separate "
                "the columns by another character, such as ';'"
            )
        raise FileContentError(
            "decimal = ',' is also the separator of the columns; set separator to another character, such as "
            "separator = ';'. If commas separate the columns, write numbers with a decimal point, and remove decimal"
        )
    detected = _detect(path, replace(options, separator=found or ","))
    if found in (",", None):
        return detected
    reason = "its first line has no comma"
    if options.decimal == ",":
        reason = "decimal = ','"
    elif "," in lines[0]:
        reason = "this gives the same number of fields in its first lines"
    by = "spaces" if found == WHITESPACE else repr(found)
    note = f"the columns of {path.name} are read as separated by {by}, since {reason}; set separator to change this"
    return replace(detected, notes=(note, *detected.notes))


def read_lines(path: Path, options: ReadOptions, nrows: int | None = None) -> list[str]:
    """Return the lines of a file that are not blank; by default, all of them."""
    whole = replace(options, separator=ABSENT, decimal=".")
    arguments: dict[str, Any] = {"header": None, "dtype": str, "quoting": csv.QUOTE_NONE, "na_filter": False}
    frame = _parse(path, whole, nrows=nrows, skipinitialspace=False, **arguments)  # a first cell may be empty
    lines: list[str] = frame.iloc[:, 0].tolist()
    return lines


def _detect(path: Path, options: ReadOptions, separator: str | None = None) -> Detected:
    """Decide whether the first line contains the names of the columns; check that names are distinct."""
    _check_text(path, options)
    options = replace(options, separator=separator or options.separator)
    head = _parse(path, options, header=None, nrows=LINES_EXAMINED, dtype=str)
    header = options.header
    notes: tuple[str, ...] = ()
    hint = ""
    if header is None:
        kind = _first_line(head)
        header = kind == "header"
        if header:
            notes = (
                f"the first line of {path.name} is read as the names of the columns, since it has text above numbers; "
                "set header = false to read it as a sample",
            )
        elif kind == "unclear":
            fix = "set header = true if it contains the names of the columns"
            notes = (f"the first line of {path.name} is read as a sample; {fix}",)
            hint = f"The first line of {path.name} is read as a sample: {fix}"
    if header and len(head):
        _check_names(head.iloc[0].dropna().tolist(), options)
    return Detected(replace(options, header=bool(header)), notes, hint)


def _first_line(head: pd.DataFrame) -> Literal["header", "sample", "unclear"]:
    """Classify the first line as a header, as a sample, or as unclear.

    It is a header if it is text above a column that consists mostly of numbers. It is unclear if all columns are text,
    none of the texts of the line occurs again in its column, and some column has repeated values below the line.
    """
    import pandas as pd

    from kernel_pipeline.data.column_encoding import MISSING_WORDS
    from kernel_pipeline.data.number_text import MOSTLY_NUMBERS

    head = head.mask(head.isin(MISSING_WORDS))
    head = head.apply(lambda column: column.str.replace(",", ".", regex=False))
    is_number = head.apply(pd.to_numeric, errors="coerce").notna()
    first, below = head.iloc[0], head.iloc[1:]
    if len(head) < 2 or first.isna().all() or is_number.iloc[0].any():
        return "sample"
    share = is_number.iloc[1:].sum() / below.notna().sum().clip(lower=1)  # single cells may be mistakes
    if ((share >= MOSTLY_NUMBERS) & first.notna()).any():
        return "header"
    is_new = not below.eq(first).any(axis=None)
    is_repeated = below.apply(lambda column: column.dropna().duplicated().any()).any()
    return "unclear" if is_new and is_repeated else "sample"


def _check_names(names: list[str], options: ReadOptions) -> None:
    """Raise a `FileContentError` if columns have the same name; numbers are ignored, being probably values."""
    counts = Counter(name for name in names if not NUMBER.fullmatch(name))
    name, count = max(counts.items(), key=lambda item: item[1], default=("", 0))
    if count > 1:
        other = ", or set header = false if the first line is a sample" if options.has_config else ""
        raise FileContentError(
            f"its first line has the name {name!r} {count} times; names of columns must be distinct. Rename one in the "
            f"file{other}"
        )


register(
    "csv",
    Format(_read, detect=_detect_csv, keys=frozenset({"separator", "decimal", "encoding"})),
    *(".csv", ".tsv"),
)
register(
    "table",
    Format(_read, detect=partial(_detect, separator=WHITESPACE), keys=frozenset({"decimal", "encoding"})),
    ".data",
)
