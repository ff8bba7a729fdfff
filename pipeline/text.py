"""Texts that others wrote, such as headers of data files, made harmless where they are shown or written."""

import re

# All of C0 and C1 but tab and line feed; a terminal takes them for commands.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
# What a spreadsheet computes, unless it is a number.
FORMULA = re.compile(r"[\t\r ]*[=+\-@]")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def printable(text: str) -> str:
    r"""Replace control characters by escapes, but for tabs and line feeds.

    >>> printable("\x1b[31mred")
    '\\x1b[31mred'
    """
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


def spreadsheet_safe(text: str) -> str:
    """Put a single quote before a text that a spreadsheet would take for a formula.

    >>> spreadsheet_safe("=1+1"), spreadsheet_safe("-1"), spreadsheet_safe("a-b")
    ("'=1+1", '-1', 'a-b')
    """
    return f"'{text}" if FORMULA.match(text) and not NUMBER.fullmatch(text) else text


def format_bytes(size: float) -> str:
    """Bytes for people, in three digits.

    >>> format_bytes(3.21 * 2**30)
    '3.21 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.0f} TiB"
