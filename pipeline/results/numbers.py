"""Format numbers of results for tables and figures: a common number of decimals, so that they can be aligned."""

import math
import re
from collections.abc import Iterable

SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
POWER = re.compile(r"\^(-?\d+)")
DIGITS = 3
"""Decimals if the largest number of a column is at least 0.01 and less than 10; else its significant digits."""
MAX_DECIMALS = 6


def decimals_for(values: Iterable[float | None]) -> int:
    """Return the number of decimals of a column: three if its largest number is at least 0.01 and less than 10.

    Otherwise the largest number has at least three significant digits, unless this needs more than six decimals.

    >>> decimals_for([0.0241, 0.11]), decimals_for([54.2, 61.0]), decimals_for([0.0004, 0.00011]), decimals_for([])
    (3, 1, 6, 3)
    """
    sizes = [abs(value) for value in values if value is not None and math.isfinite(value) and value != 0]
    largest = max(sizes, default=1.0)
    if 0.01 <= largest < 10:
        return DIGITS
    return min(max(DIGITS - 1 - math.floor(math.log10(largest)), 0), MAX_DECIMALS)


def format_number(value: float | None, decimals: int = DIGITS) -> str:
    """Return a number with fixed decimals and thousands separators; empty for an undefined one.

    Negative numbers have a typographic minus sign (U+2212).

    >>> format_number(-0.1234), format_number(12345.6, 1), format_number(float("nan"))
    ('−0.123', '12,345.6', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:,.{decimals}f}".replace("-", "−")


def format_scientific(value: float | None) -> str:
    """Return a small number, such as a certificate, with two significant digits; empty for an undefined one.

    >>> format_scientific(1.52e-12), format_scientific(0.0), format_scientific(None)
    ('1.5e−12', '0', '')
    """
    if value is None or not math.isfinite(value):
        return ""
    return f"{value:.1e}".replace("-", "−") if value else "0"


def superscripts(text: str) -> str:
    """Return a text with powers as superscripts.

    >>> superscripts("gaussian(2^-9)"), superscripts("a^b")
    ('gaussian(2⁻⁹)', 'a^b')
    """
    return POWER.sub(lambda found: found[1].translate(SUPERSCRIPTS), text)


def format_value(value: float) -> str:
    """Return a value of a grid: powers of two as such, other numbers with three significant digits.

    >>> format_value(0.0625), format_value(1.0), format_value(0.3)
    ('2⁻⁴', '2⁰', '0.3')
    """
    mantissa, exponent = math.frexp(value)
    return superscripts(f"2^{exponent - 1}") if mantissa == 0.5 else f"{value:.3g}".replace("-", "−")
