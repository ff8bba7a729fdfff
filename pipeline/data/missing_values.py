"""Mark cells that a config declares as missing."""

from collections.abc import Sequence

import pandas as pd

from kernel_pipeline.data.number_text import format_label


def mark_missing(frame: pd.DataFrame, words: Sequence[str | float]) -> pd.DataFrame:
    """Return a table in which cells that contain certain words or numbers are missing.

    A column whose other cells are all numbers becomes a column of numbers.

    Examples
    --------
    >>> frame = pd.DataFrame({"ph": ["7.1", "n.d."], "age": [45, -999]})
    >>> mark_missing(frame, ["n.d.", -999]).to_numpy().tolist()
    [[7.1, 45.0], [nan, nan]]
    """
    texts = [format_label(word) for word in words]
    numbers = pd.to_numeric(pd.Series(texts, dtype=object), errors="coerce").dropna().tolist()
    columns = {}
    for column in frame:
        values = frame[column]
        is_numeric = pd.api.types.is_numeric_dtype(values)
        is_missing = values.isin(numbers) if is_numeric else values.map(format_label).isin(texts) & values.notna()
        columns[column] = _to_numbers_if_possible(values.mask(is_missing)) if is_missing.any() else values
    return pd.DataFrame(columns, index=frame.index)


def _to_numbers_if_possible(values: pd.Series) -> pd.Series:
    """Return a column as numbers if all values that are present are numbers, and otherwise unchanged."""
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    return values if (numbers.isna() & values.notna()).any() else numbers.astype("float64")
