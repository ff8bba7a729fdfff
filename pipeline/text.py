"""Format text for terminals and spreadsheets; untrusted text, such as headers of data files, is escaped."""

import math
import re

# The C0 and C1 control characters except tab and line feed; a terminal interprets them as commands.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# Text that a spreadsheet evaluates as a formula, unless it is a number.
FORMULA = re.compile(r"[\t\r ]*[=+\-@]")
DATE = re.compile(r"(\d{4}([-/.])\d{1,2}\2\d{1,2}|\d{1,2}([-/.])\d{1,2}\3(\d{4}|\d{2}))\.?([T ]\d{1,2}:\d{2}.*)?")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
MAX_SHORT_LINE = 160
"""Maximum length of `short_line`, in characters."""


def printable(text: str) -> str:
    r"""Replace control characters, except tabs and line feeds, by escape sequences.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def short_line(text: str) -> str:
    r"""Return the beginning of untrusted text as one printable line.

    >>> short_line("3\n passes \x1b[31m")
    '3 passes \\x1b[31m'
    """
    return printable(" ".join(text[:MAX_SHORT_LINE].split()))


def spreadsheet_safe(text: str) -> str:
    """Put a single quote before text that a spreadsheet would evaluate as a formula.

    >>> spreadsheet_safe("=1+1"), spreadsheet_safe("-1"), spreadsheet_safe("a-b")
    ("'=1+1", '-1', 'a-b')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def counted(number: int, one: str, several: str = "") -> str:
    """Return a number with the words that follow it, which differ for the number 1.

    Parameters
    ----------
    one, several
        Words after 1, and after any other number; by default, `several` is `one` with an s.

    >>> counted(1, "file"), counted(2500, "file"), counted(0, "row is", "rows are")
    ('1 file', '2,500 files', '0 rows are')
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def format_bytes(size: float) -> str:
    """Format a number of bytes with three significant digits.

    >>> format_bytes(3.21 * 2**30), format_bytes(1.5 * 2**40)
    ('3.21 GiB', '1.5 TiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:.3g} TiB" if size < 999.5 else f"{size:,.0f} TiB"


def format_seconds(seconds: float) -> str:
    """Format an estimated time, with one decimal for values below 10.

    >>> [format_seconds(seconds) for seconds in (0.123, 4.2, 75, 720, 9000, 250_000)]
    ['0.1 s', '4.2 s', '75 s', '12 min', '2.5 h', '2.9 days']
    """
    units = (("s", 1, 120), ("min", 60, 7200), ("h", 3600, 172_800), ("days", 86_400, math.inf))
    unit, length = next((unit, length) for unit, length, limit in units if seconds < limit)
    value = seconds / length
    return f"{value:.1f} {unit}" if value < 9.95 else f"{value:.0f} {unit}"
