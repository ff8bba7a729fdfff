"""Encode single columns of a table as numbers; encodings are fitted to a dataset and applied to it or to new rows."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from kernel_pipeline.data.number_text import format_label
from kernel_pipeline.errors import DataError

MISSING_WORDS = frozenset(
    {"", "?", "NA", "N/A", "n/a", "#N/A", "#NA", "<NA>", "nan", "NaN", "-nan", "-NaN", "null", "NULL", "None"}
)
"""Strings in feature columns that represent a missing value, similar to the defaults of pandas.

In a target they are labels, unless the reader of the file format has already replaced them.
"""

Encode = str | Mapping[str, float] | None
"""The key `encode` of a dataset: "onehot", a mapping from words or letters to numbers, or None."""


@dataclass(frozen=True)
class ColumnEncoding:
    """How one column of a table becomes one or more columns of numbers."""

    column: Hashable
    kind: Literal["number", "onehot", "words", "letters", "unused"]
    texts: tuple[Any, ...] = ()
    """The categories of a one-hot encoding, text or numbers; each becomes a column of zeros and ones."""
    names: tuple[str, ...] = ()
    """Names of these columns."""
    length: int = 1
    """Number of letters of each sequence, one column per letter; for an unused column, its width."""

    @property
    def width(self) -> int:
        """Return the number of columns of numbers."""
        return len(self.texts) if self.kind == "onehot" else self.length

    def encode(self, values: pd.Series, encode: Encode) -> pd.DataFrame:
        """Return the columns of numbers of some rows; NaN for missing values and words without a number.

        Parameters
        ----------
        values
            Cells of the column, from `present_values`. A text without a column of its own has zeros in all columns.
        encode
            The key `encode` of the dataset, which maps words or letters to numbers.
        """
        if self.kind == "number":
            return as_numbers(values).to_frame()
        if self.kind == "onehot":
            known = pd.Categorical(values.where(values.isin(self.texts)), categories=list(self.texts))
            made = pd.get_dummies(pd.Series(known, values.index), dtype=np.float64)
            return made.set_axis(self.names, axis=1).where(values.notna(), np.nan)
        assert isinstance(encode, Mapping)
        text = values.astype("string").str.strip()
        if self.kind == "words":
            return text.map(dict(encode)).astype(np.float64).to_frame()
        cells = [[encode.get(letter, np.nan) for letter in word] for word in text.fillna(" " * self.length)]
        return pd.DataFrame(cells, index=values.index, columns=range(self.length)).add_prefix(f"{self.column}.")


def fit_column(values: pd.Series, has_text: bool, is_categorical: bool, encode: Encode, name: str) -> ColumnEncoding:
    """Decide how a column is encoded.

    Parameters
    ----------
    values
        Cells of the column, from `present_values`.
    has_text
        Whether any cell is text.
    is_categorical
        Whether the column is one-hot encoded even if it contains numbers.
    name
        Name of the dataset, for error messages.
    """
    column: Hashable = values.name
    if is_categorical or (has_text and encode == "onehot"):
        texts = tuple(pd.Categorical(values).categories)
        written = map(format_label, texts) if pd.api.types.is_numeric_dtype(values) else map(str, texts)
        return ColumnEncoding(column, "onehot", texts, tuple(f"{column}_{text}" for text in written))
    if not has_text or not isinstance(encode, Mapping):
        return ColumnEncoding(column, "number")
    lengths = values.astype("string").str.strip().str.len().dropna().unique()
    if not all(len(symbol) == 1 for symbol in encode) or lengths.max() == 1:
        return ColumnEncoding(column, "words")
    if len(lengths) > 1:
        raise DataError(
            f"dataset {name!r}: column {column!r} contains sequences of {lengths.min()} to {lengths.max()} "
            "letters; all of them must have the same length"
        )
    return ColumnEncoding(column, "letters", length=int(lengths[0]))


def present_values(values: pd.Series, encode: Encode) -> pd.Series:
    """Return the cells of a column, with words that represent a missing value as missing."""
    if pd.api.types.is_numeric_dtype(values):
        return values
    missing = MISSING_WORDS.difference(encode) if isinstance(encode, Mapping) else MISSING_WORDS
    return values.mask(values.isin(missing))


def text_cells(values: pd.Series) -> pd.Series:
    """Return which cells are present and not numbers."""
    return as_numbers(values).isna() & values.notna()


def as_numbers(values: pd.Series) -> pd.Series:
    """Return the cells as numbers, and NaN for text."""
    return pd.to_numeric(values.astype(object), errors="coerce").astype(np.float64)
