"""Encode new rows of a table in the same way as the rows of a dataset."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from kernel_pipeline.data.column_encoding import ColumnEncoding, as_numbers, present_values, text_cells
from kernel_pipeline.data.encoding import MAX_MAGNITUDE, EncodedFeatures
from kernel_pipeline.data.missing_values import mark_missing
from kernel_pipeline.data.new_rows import NewRows, RowForm
from kernel_pipeline.data.number_text import format_label, has_decimal_comma, with_decimal_points
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans, Integers
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.text import counted

MAX_LISTED = 10
"""Maximum number of columns or categories in a message."""


@dataclass(frozen=True)
class TableRows:
    """Encoder of the rows of a table.

    The columns of the target, and those that no kernel uses, may be present or absent. All other columns of the source
    must be present, and no further columns are allowed, unless `absent_is_zero` is true: then columns that are absent
    are zero, and further columns are ignored. If the columns of the new rows have no names, they are identified by
    their position: the rows must then have all columns of the source, all but those of the target, or only those that
    kernels use.
    """

    columns: tuple[Hashable, ...]
    """Labels of all columns of the source."""
    unused: tuple[Hashable, ...]
    """Labels of the target, and of columns that are not features or that no kernel uses."""
    targets: tuple[Hashable, ...]
    encodings: tuple[ColumnEncoding, ...]
    """How each feature column of the source is encoded."""
    encode_key: str | dict[str, float] | None
    """The key `encode` of the dataset."""
    missing: str
    """The key `missing` of the dataset."""
    missing_values: tuple[str | float, ...] = ()
    """The key `missing_values` of the dataset."""
    chosen: Integers | None = None
    """Indices of the features that are used; None for all."""
    absent_is_zero: bool = False
    """Whether columns that the rows lack are zero, as in sparse formats."""
    decimal_comma: bool = False
    """Whether text in columns of numbers may have decimal commas, as in the source."""

    def only(self, indices: Integers) -> "TableRows":
        """Return an encoder of only the features with the given indices."""
        return replace(self, chosen=np.asarray(indices) if self.chosen is None else self.chosen[indices])

    @property
    def form(self) -> RowForm:
        """Form of a file of new rows."""
        return "table"

    @property
    def has_column_names(self) -> bool | None:
        """Whether the columns of the source have names."""
        return any(isinstance(label, str) for label in self.required)

    @property
    def required(self) -> list[Hashable]:
        """Labels of the source columns that new rows must have, since a kernel uses them."""
        return [encoding.column for encoding in self.encodings if encoding.kind != "unused"]

    def encode(self, rows: Any) -> NewRows:
        """Return the features of new rows, given as a data frame or an array."""
        frame = self._labelled(_as_frame(rows))
        if self.decimal_comma:
            numbers = [encoding.column for encoding in self.encodings if _has_numbers(encoding)]
            frame = frame.copy()
            for column in numbers:
                frame[column] = with_decimal_points(frame[column])
        if self.missing_values:
            frame = mark_missing(frame, self.missing_values)
        parts, notes = [], []
        for encoding in self.encodings:
            if encoding.kind == "unused":
                parts.append(np.zeros((len(frame), encoding.width)))
                continue
            values = present_values(frame[encoding.column], self.encode_key)
            if encoding.kind == "onehot":
                values = _as_categories(values, encoding.texts)
                notes += _unknown_categories(values, encoding)
            self._check(values, encoding)
            parts.append(encoding.encode(values, self.encode_key).to_numpy(np.float64))
        features = np.concatenate(parts, axis=1) if parts else np.empty((len(frame), 0))
        features = features if self.chosen is None else features[:, self.chosen]
        return NewRows(features, self._usable(features), tuple(notes))

    def _labelled(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return the feature columns of new rows, by their labels in the source."""
        frame = frame.reset_index(drop=True)
        if self.absent_is_zero:
            return frame.reindex(columns=self.required, fill_value=0.0)
        given: list[Hashable] = list(frame.columns)
        if repeated := [label for place, label in enumerate(given) if label in given[:place]]:
            raise DataError(f"the new rows have several columns called {repeated[0]!r}; rename all but one")
        if all(isinstance(label, int | np.integer) for label in given):
            frame = frame.set_axis(self._by_position(len(given)), axis=1)
        else:
            by_text = {str(label): label for label in self.columns}
            frame = frame.set_axis([by_text.get(str(label), label) for label in given], axis=1)
        known = set(self.columns)
        lacking = [label for label in self.required if label not in frame.columns]
        extra = [label for label in frame.columns if label not in known]
        if lacking or extra:
            unknown = f"have the unknown column{'s' if len(extra) > 1 else ''}"
            differences = (("lack", lacking), (unknown, extra))
            found = [f"{what} {_listed(labels)}" for what, labels in differences if labels]
            raise DataError(
                f"the new rows do not have the columns of the source: they {' and '.join(found)}. Required "
                f"columns: {_listed(self.required)}. Columns that are allowed, but not used: {_listed(self.unused)}"
            )
        return frame[self.required]

    def _by_position(self, count: int) -> list[Hashable]:
        """Return the labels of columns that are identified by their position."""
        without_targets = [label for label in self.columns if label not in self.targets]
        for labels in (list(self.columns), without_targets, self.required):
            if count == len(labels):
                return labels
        raise DataError(
            f"the new rows have {counted(count, 'column')}; {len(self.columns)} are required, as in the source, or "
            f"{len(without_targets)} without the target"
        )

    def _check(self, values: pd.Series, encoding: ColumnEncoding) -> None:
        """Raise a `DataError` for text in a column of numbers, and for sequences of another length."""
        if encoding.kind == "number" and (text := text_cells(values)).any():
            row = int(np.argmax(text))
            raise DataError(
                f"column {encoding.column!r} contains the text {str(values.iloc[row])!r} in {_place(row)}; it must "
                "contain numbers only, as in the data that the model was fitted to. "
                f"{self._text_fix(values.iloc[[row]])}"
            )
        if encoding.kind == "letters":
            wrong = values.notna() & (values.astype("string").str.strip().str.len() != encoding.length)
            if wrong.any():
                row = int(np.argmax(wrong))
                raise DataError(
                    f"column {encoding.column!r} contains {str(values.iloc[row])!r} in {_place(row)}; "
                    f"sequences of {encoding.length} letters are required"
                )

    def _text_fix(self, cell: pd.Series) -> str:
        """Return how to correct a cell of text in a column of numbers."""
        if has_decimal_comma(cell).all():
            text = str(cell.iloc[0]).strip()
            return (
                f"Write {text.replace(',', '.')} with a decimal point, since the config with which the model was "
                "fitted does not have decimal = ','; in Python, pd.read_csv(..., decimal=',') reads such a file"
            )
        empty = "" if self.missing == "error" else "leave the cell empty if its value is missing, "
        return f"Write a number, {empty}or leave the row out"

    def _usable(self, features: Any) -> Any:
        """Find the rows whose values are present and finite, or can be imputed."""
        usable = np.abs(features) < MAX_MAGNITUDE  # false for NaN and infinity
        if self.missing not in ("error", "drop"):
            usable |= np.isnan(features)
        whole = usable.all(axis=1)
        if self.missing != "drop" and not whole.all():
            row = int(np.argmin(whole))
            place = int(np.argmin(usable[row]))
            origins = np.repeat(np.arange(len(self.encodings)), [encoding.width for encoding in self.encodings])
            origin = self.encodings[int((origins if self.chosen is None else origins[self.chosen])[place])].column
            raise DataError(
                f"column {origin!r} has no usable number in {_place(row)}: found "
                f"{float(features[row, place])}; this is the case in {int((~whole).sum())} of {len(whole)} rows. The "
                f"config with which the model was fitted has missing = {self.missing!r}: fill the cells, or leave "
                "these rows out"
            )
        return whole


def build_encoder(
    frame: pd.DataFrame,
    labels: pd.Series | pd.DataFrame,
    encoded: EncodedFeatures,
    used: Booleans,
    encode: str | Mapping[str, float] | None,
    missing: str,
    missing_values: Sequence[str | float] = (),
) -> TableRows:
    """Return the encoder of new rows of a table.

    Parameters
    ----------
    frame
        The table, of which only the labels of columns are used.
    labels
        The target.
    encoded
        The features.
    used
        Which of the encoded features are used by a kernel. If no feature of a source column is used, all of them are 0
        in new rows.
    encode, missing, missing_values
        Keys of the dataset.
    """
    encodings, start = [], 0
    for encoding in encoded.encodings:
        stop = start + encoding.width
        is_used = bool(used[start:stop].any())
        encodings.append(encoding if is_used else ColumnEncoding(encoding.column, "unused", length=encoding.width))
        start = stop
    needed = {encoding.column for encoding in encodings if encoding.kind != "unused"}
    targets = [labels.name] if isinstance(labels, pd.Series) else list(labels.columns)
    return TableRows(
        columns=tuple(frame.columns),
        unused=tuple(column for column in frame.columns if column not in needed),
        targets=tuple(targets),
        encodings=tuple(encodings),
        encode_key=dict(encode) if isinstance(encode, Mapping) else encode,
        missing=missing,
        missing_values=tuple(missing_values),
        chosen=encoded.selected,
    )


def _as_frame(rows: Any) -> pd.DataFrame:
    """Return new rows as a data frame.

    Raises
    ------
    DataError
        If they are neither a data frame nor two-dimensional.
    """
    if isinstance(rows, pd.DataFrame):
        return rows
    values = np.asarray(rows)
    if values.ndim not in (1, 2):
        raise DataError(
            "the new rows must be a DataFrame or an array with one row per sample; got "
            f"{type(rows).__name__}. Read a file first, or use `pipeline predict MODEL FILE`"
        )
    return pd.DataFrame(values)


def _has_numbers(encoding: ColumnEncoding) -> bool:
    """Return whether the cells of a column are numbers in the data that the model was fitted to."""
    texts = encoding.texts
    return encoding.kind == "number" or (encoding.kind == "onehot" and all(map(_is_number, texts)))


def _is_number(cell: object) -> bool:
    return isinstance(cell, int | float | np.number)


def _place(row: int) -> str:
    """Describe a row in a message, stating that rows are counted from 1, since those of predictions start at 0."""
    return f"row {row + 1} of the new rows (counted from 1)"


def _as_categories(values: pd.Series, known: tuple[Any, ...]) -> pd.Series:
    """Return cells in the form of the known categories: read text as numbers, or write numbers as text."""
    if all(map(_is_number, known)):
        return values.where(as_numbers(values).isna(), as_numbers(values))
    if not all(isinstance(category, str) for category in known):
        return values
    pairs = zip(values.astype(object), values.isna(), strict=True)
    cells = [cell if isinstance(cell, str) or empty else format_label(cell) for cell, empty in pairs]
    return pd.Series(cells, index=values.index, name=values.name, dtype=object)


def _unknown_categories(values: pd.Series, encoding: ColumnEncoding) -> list[str]:
    """Return a note about values that do not occur in the data that the model was fitted to."""
    unknown = values[values.notna() & ~values.isin(encoding.texts)]
    if not len(unknown):
        return []
    similar = {str(known).strip().casefold(): f" (did you mean {known!r}?)" for known in encoding.texts}
    listed = [f"{value!r}{similar.get(str(value).strip().casefold(), '')}" for value in dict.fromkeys(unknown)]
    return [
        f"column {encoding.column!r} contains values that are not in the data that the model was fitted to, in "
        f"{counted(len(unknown), 'row')}: {list_first(listed, MAX_LISTED)}; each of them is encoded as zeros"
    ]


def _listed(labels: Sequence[Any]) -> str:
    return list_first(list(map(repr, labels)), MAX_LISTED) or "none"
