"""Count the fields of lines of text, to find the character that separates them and lines that are too short."""

import csv
import re
from collections.abc import Iterable, Iterator, Sequence

WHITESPACE = r"\s+"
"""Separator of columns that are separated by any number of spaces and tabs."""
SEPARATORS = (",", ";", "\t", "|")
"""Separators that are detected, the first ones preferred."""
QUOTED = re.compile(r'"[^"]*"')


def find_separator(lines: Sequence[str], decimal: str) -> str | None:
    """Return the separator of the first lines of a file, or None if there is none.

    It is in the first line, outside of quotes, and gives the same number of fields in all lines; if several do, the one
    with the most fields is chosen, and if none does, the first one that is in the first line. With a decimal comma, the
    comma does not separate columns, but spaces may.

    Examples
    --------
    >>> find_separator(["a;b, in EUR;c", "1;2;3"], "."), find_separator(["a,b;c", "1,2;3"], ".")
    (';', ',')
    >>> find_separator(["a b", "1,5 2"], ","), find_separator(["a,b", "1,2"], ",")
    ('\\\\s+', None)
    """
    unquoted = [QUOTED.sub("x", line) for line in lines]
    present = [mark for mark in SEPARATORS if mark != decimal and unquoted and mark in unquoted[0]]
    counts = {mark: {line.count(mark) for line in unquoted} for mark in present}
    even = [mark for mark in present if len(counts[mark]) == 1]
    if even:
        return max(even, key=lambda mark: max(counts[mark]))  # the first one if several have the most fields
    widths = {len(line.split()) for line in unquoted}
    if decimal == "," and not present and len(widths) == 1 and min(widths) > 1:
        return WHITESPACE
    return present[0] if present else None


def count_fields(lines: Iterable[str], separator: str) -> Iterator[int]:
    """Yield the number of fields of each row; with a separator other than whitespace, a row may have several lines.

    >>> list(count_fields(["1,2,3", '"4,5",6', "7"], ",")), list(count_fields(['1  "2 3"'], WHITESPACE))
    ([3, 2, 1], [2])
    """
    if separator == WHITESPACE:
        return (len(QUOTED.sub("x", line).split()) for line in lines)
    rows = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=separator != "\t")
    return map(len, rows)
