"""Recognise numbers in columns of text, and write numbers as text."""

import re

import pandas as pd

DECIMAL_COMMA = re.compile(r"\s*[+-]?\d+,\d+([eE][+-]?\d+)?\s*")
DECIMAL_POINT = re.compile(r"\s*[+-]?\d+\.\d+([eE][+-]?\d+)?\s*")
THOUSANDS = re.compile(r"\s*[+-]?\d{1,3}(([.' ]\d{3})+(,\d+)?|([,' ]\d{3})+(\.\d+)?)\s*")
THOUSANDS_COMMA = re.compile(r"\s*[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?\s*")
MOSTLY_NUMBERS = 0.8
"""A column in which at least this fraction of the values are numbers is not a column of text."""


def format_label(label: object) -> str:
    """Format a label as in a config: 2.0 becomes "2", and surrounding spaces are removed."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


def has_decimal_comma(values: pd.Series) -> pd.Series:
    """Return which values, written as text, are numbers with a decimal comma."""
    return values.astype(object).map(str).str.fullmatch(DECIMAL_COMMA)


def has_decimal_point(values: pd.Series) -> pd.Series:
    """Return which values, written as text, are numbers with a decimal point."""
    return values.astype(object).map(str).str.fullmatch(DECIMAL_POINT)


def has_thousands_separators(values: pd.Series) -> pd.Series:
    """Return which values, written as text, are numbers with thousands separators.

    >>> has_thousands_separators(pd.Series(["1.395,33", "1,395.33", "12'000", "1,5", "1395"])).tolist()
    [True, True, True, False, False]
    """
    return values.astype(object).map(str).str.fullmatch(THOUSANDS)


def has_thousands_commas(values: pd.Series) -> pd.Series:
    """Return which values, written as text, are numbers with commas between thousands, or may be.

    >>> has_thousands_commas(pd.Series(["1,395.33", "1,395", "0,395", "1.395,33", "1395"])).tolist()
    [True, True, False, False, False]
    """
    return values.astype(object).map(str).str.fullmatch(THOUSANDS_COMMA)


def with_decimal_points(values: pd.Series) -> pd.Series:
    """Return the values with a decimal point in each text that is a number with a decimal comma.

    >>> with_decimal_points(pd.Series(["2,0", "12 km", None])).tolist()[:2]
    ['2.0', '12 km']
    """
    if pd.api.types.is_numeric_dtype(values):
        return values
    texts = values.astype(object)
    return texts.mask(has_decimal_comma(texts), texts.map(str).str.replace(",", ".", regex=False))


def is_mostly_numbers(values: pd.Series) -> bool:
    """Return whether at least the fraction `MOSTLY_NUMBERS` of present values are numbers.

    Decimal commas and commas between thousands are allowed.

    >>> is_mostly_numbers(pd.Series(["7,1", "6,8", None, "n.d.", "7", "7"])), is_mostly_numbers(pd.Series(["a", "1"]))
    (True, False)
    """
    present = values.dropna()
    if present.empty:
        return False
    numbers = pd.to_numeric(present.astype(object), errors="coerce").notna()
    numbers |= has_decimal_comma(present) | has_thousands_commas(present)
    return float(numbers.mean()) >= MOSTLY_NUMBERS
