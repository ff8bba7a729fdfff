"""Encode text columns and labels as numbers, and find rows with missing values."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats

MAX_MAGNITUDE = 1e150
"""Limit of the absolute value of a number; the squares of larger ones overflow."""
MAX_LISTED_CLASSES = 5
MAX_LISTED_LABELS = 10


def encode_features(table: pd.DataFrame, encode: str | Mapping[str, float] | None, name: str) -> pd.DataFrame:
    """Replace text columns by columns of numbers.

    Parameters
    ----------
    table
        Columns of numbers or text.
    encode
        "onehot", or the number of each word. If all words in it are single letters, a column of longer words is
        treated as sequences, with one feature per letter. Cells without a number become NaN.
    name
        Name of the dataset, for error messages.
    """
    if all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        return table.astype(np.float64)  # fast, since there may be many columns
    columns: list[pd.DataFrame] = []
    for column in table:
        values = table[column]
        numbers = pd.to_numeric(values.astype(object), errors="coerce").astype(np.float64)
        text = numbers.isna() & values.notna()
        if not text.any():
            columns.append(numbers.to_frame())
        elif encode is None:
            row = int(np.flatnonzero(text)[0])
            raise DataError(
                f"dataset {name!r}: column {column!r} contains text, {values.iloc[row]!r} in row {row + 1}. "
                f"Drop the column (drop = [{column!r}]), or encode it: encode = 'onehot', or "
                "encode = { word = number, ... }"
                + (". If the first line contains the names of the columns, set header = true" if row == 0 else "")
            )
        elif encode == "onehot":
            columns.append(pd.get_dummies(values, prefix=str(column), dtype=np.float64).where(values.notna(), np.nan))
        elif isinstance(encode, Mapping):
            columns.append(_by_codes(values, encode, name))
    return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=table.index)


def _by_codes(values: pd.Series, codes: Mapping[str, float], name: str) -> pd.DataFrame:
    """Replace the words of a column, or the letters of its words, by their numbers."""
    text = values.astype("string").str.strip()
    letters = all(len(symbol) == 1 for symbol in codes)
    lengths = text.str.len().dropna().unique()
    if not letters or lengths.max() == 1:
        return text.map(dict(codes)).astype(np.float64).to_frame()
    if len(lengths) > 1:
        raise DataError(
            f"dataset {name!r}: column {values.name!r} contains sequences of {lengths.min()} to {lengths.max()} "
            "letters; all of them must have the same length"
        )
    cells = [[codes.get(letter, np.nan) for letter in word] for word in text.fillna(" " * int(lengths[0]))]
    return pd.DataFrame(cells, index=values.index).add_prefix(f"{values.name}.")


def whole_rows(features: pd.DataFrame, target: pd.Series, missing: str, name: str) -> NDArray[np.bool_]:
    """Find the rows in which all values are present and finite.

    Raises
    ------
    DataError
        If `missing` is "error" and a row has a missing value.
    """
    usable = (features.abs() < MAX_MAGNITUDE).to_numpy()  # false for NaN and infinity
    whole = usable.all(axis=1) & target.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(target):
        whole &= (target.abs() < MAX_MAGNITUDE).to_numpy()
    if missing == "error" and not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        column = int(np.argmin(usable[row]))
        where, value = (
            ("target", target.iloc[row])
            if usable[row].all()
            else (features.columns.tolist()[column], float(features.to_numpy()[row, column]))
        )
        raise DataError(
            f"dataset {name!r}: column {where!r} has no usable number in row {row + 1} (found {value}); "
            f"this is the case in {int((~whole).sum())} of {len(whole)} rows. Fix the file, or drop these rows: "
            "missing = 'drop'"
        )
    return whole


def is_numbers(values: pd.Series) -> bool:
    """Return whether all labels are numbers, or text that can be read as numbers."""
    return bool(pd.to_numeric(values.astype(object), errors="coerce").notna().all())


def encode_target(values: pd.Series, task: str, positive: Sequence[str] | None, name: str) -> Floats:
    """Encode labels: two classes as -1 and +1; numbers of a regression are unchanged.

    Parameters
    ----------
    values
        Labels, numbers or text.
    task
        "regression" or "classification".
    positive
        Labels that become +1. Without it, this is the larger of two labels.
    name
        Name of the dataset, for error messages.
    """
    numbers = pd.to_numeric(values.astype(object), errors="coerce")
    if is_numbers(values):
        values = numbers
    numeric = pd.api.types.is_numeric_dtype(values)
    if task == "regression" and numeric and positive is None:
        target = values.to_numpy(np.float64)
        if len(target) and np.ptp(target) == 0:
            raise DataError(f"dataset {name!r}: the target is constant ({target[0]:g}); there is nothing to learn")
        return target
    labels = values.map(_written)
    if task == "regression" and positive is None and labels.nunique() > 2:
        row = int(np.flatnonzero(numbers.isna())[0])
        raise DataError(
            f"dataset {name!r}: a regression target must consist of numbers or of labels of two classes; it "
            f"contains {labels.iloc[row]!r} in row {int(values.index[row]) + 1}"
        )
    classes = sorted(values.unique().tolist()) if numeric else sorted(labels.unique().tolist())
    written = [_written(label) for label in classes]
    if positive is not None:
        unknown = [label for label in positive if label not in written]
        if unknown:
            raise DataError(
                f"dataset {name!r}: positive = {list(positive)} contains {unknown[0]!r}, which is not one of the "
                f"labels: {', '.join(written[:MAX_LISTED_LABELS])}"
            )
        chosen = set(positive)
    else:
        chosen = set(written[-1:])
        if len(classes) > 2:
            raise DataError(
                f"dataset {name!r}: the target has {len(classes)} classes ("
                f"{', '.join(written[:MAX_LISTED_CLASSES])}{', ...' if len(classes) > MAX_LISTED_CLASSES else ''}); "
                "more than two are not supported yet. Choose the classes that become +1: "
                f"positive = ['{written[0]}']" + (", or set task = 'regression'" if numeric else "")
            )
    if len(classes) < 2 or len(chosen) == len(classes):
        raise DataError(f"dataset {name!r}: all samples belong to one class, {written[0]!r}; there is nothing to learn")
    return np.where(labels.isin(chosen), 1.0, -1.0)


def _written(label: object) -> str:
    """Return a label as text, as in a config: 2.0 is written as 2."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()
