"""Encode text columns as numbers."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd

from kernel_pipeline.data.column_encoding import ColumnEncoding, as_numbers, fit_column, present_values
from kernel_pipeline.data.number_text import (
    MOSTLY_NUMBERS,
    format_label,
    has_decimal_comma,
    has_thousands_commas,
    has_thousands_separators,
    is_mostly_numbers,
)
from kernel_pipeline.tasks.arrays import Booleans, Integers

MAX_MAGNITUDE = 1e150
"""Upper limit of the absolute value of a number; sums of squares of larger numbers may overflow."""


@dataclass(frozen=True)
class RefusedColumn:
    """A column that contains text and is not encoded."""

    text: pd.Series
    """The cells that contain text."""
    mostly_numbers: bool
    """Whether most cells contain numbers, so that the text is probably a mistake."""

    @property
    def has_decimal_commas(self) -> bool:
        """Whether most of the text consists of numbers with a decimal comma; 1,234 is one, except beside 1,234.5."""
        decimal, thousands = has_decimal_comma(self.text), has_thousands_commas(self.text)
        if (thousands & ~decimal).any() and float(thousands.mean()) >= MOSTLY_NUMBERS:
            return False
        return float(decimal.mean()) >= MOSTLY_NUMBERS

    @property
    def may_be_thousands(self) -> bool:
        """Whether each comma may also separate thousands, as in 1,234."""
        return bool(has_thousands_commas(self.text).all())

    @property
    def has_thousands_separators(self) -> bool:
        """Whether most of the text consists of numbers with thousands separators."""
        return float(has_thousands_separators(self.text).mean()) >= MOSTLY_NUMBERS


@dataclass(frozen=True)
class EncodedFeatures:
    """Feature columns as numbers."""

    frame: pd.DataFrame
    origins: list[Hashable]
    """For each column, the column of the table from which it was derived."""
    table: pd.DataFrame
    """The table before its text was encoded."""
    encodings: list[ColumnEncoding]
    """How each column of the table was encoded, to encode new rows in the same way."""
    refused: dict[Hashable, RefusedColumn] = field(default_factory=dict)
    """Columns of the table that contain text and are not encoded; they have NaN instead of text."""
    selected: Integers | None = None
    """Indices of these columns among all columns that the encodings produce; None for all."""

    @property
    def one_hot(self) -> list[Hashable]:
        """Return the columns of the table that are one-hot encoded."""
        return [encoding.column for encoding in self.encodings if encoding.kind == "onehot"]

    def one_hot_groups(self) -> list[list[int]]:
        """Return the indices of the columns that encode each one-hot encoded column.

        >>> encode_features(pd.DataFrame({"x": [1, 2], "color": ["red", "blue"]}), "onehot").one_hot_groups()
        [[1, 2]]
        """
        groups = ([index for index, origin in enumerate(self.origins) if origin == column] for column in self.one_hot)
        return [group for group in groups if group]

    def select(self, chosen: Booleans) -> EncodedFeatures:
        """Return some of the columns of numbers."""
        origins = [origin for origin, keep in zip(self.origins, chosen, strict=True) if keep]
        before = np.arange(len(chosen)) if self.selected is None else self.selected
        return replace(self, frame=self.frame.loc[:, chosen], origins=origins, selected=before[chosen])


def encode_features(
    table: pd.DataFrame,
    encode: str | Mapping[str, float] | None,
    name: str = "",
    categorical: Collection[Hashable] = (),
) -> EncodedFeatures:
    """Replace text columns by columns of numbers.

    Parameters
    ----------
    table
        Columns of numbers or text.
    encode
        "onehot", or a mapping from words to numbers. If all its words are single letters, a column of longer words is
        treated as sequences, with one feature per position. Cells without a number become NaN.
    name
        Name of the dataset, for error messages.
    categorical
        Columns that are one-hot encoded even if they contain numbers.

    Returns
    -------
    EncodedFeatures
        The columns of numbers, and the columns from which they were derived.
    """
    if not categorical and all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        # A fast path, since there may be many columns.
        encodings = [ColumnEncoding(column, "number") for column in table]
        return EncodedFeatures(table.astype(np.float64), list(table.columns), table, encodings)
    columns: list[pd.DataFrame] = []
    encodings = []
    refused: dict[Hashable, RefusedColumn] = {}
    for column in table:
        values = present_values(table[column], encode)
        numbers = as_numbers(values)
        text = values[numbers.isna() & values.notna()]
        if len(text) and column not in categorical and (encode is None or _is_mistake(values, numbers, encode)):
            refused[column] = RefusedColumn(text, is_mostly_numbers(values))
            encodings.append(ColumnEncoding(column, "number"))
        else:
            encodings.append(fit_column(values, len(text) > 0, column in categorical, encode, name))
        columns.append(encodings[-1].encode(values, encode))
    origins = [column for column, made in zip(table, columns, strict=True) for _ in range(made.shape[1])]
    frame = pd.concat(columns, axis=1) if columns else pd.DataFrame(index=table.index)
    return EncodedFeatures(frame, origins, table, encodings, refused)


def _is_mistake(values: pd.Series, numbers: pd.Series, encode: str | Mapping[str, float]) -> bool:
    """Return whether text in a column of numbers is probably a mistake, rather than one of several categories."""
    if isinstance(values.dtype, pd.CategoricalDtype):  # the file declares the categories
        return False
    if isinstance(encode, Mapping) and values[numbers.notna()].map(format_label).isin(list(encode)).any():
        return False
    return is_mostly_numbers(values)
