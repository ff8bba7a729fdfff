"""From a table of columns to numbers: text becomes codes, labels become targets, gaps are refused or left out."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats

# Squares of larger numbers overflow.
LARGEST = 1e150


def encode_features(table: pd.DataFrame, encode: str | dict[str, float] | None, name: str) -> pd.DataFrame:
    """Replace every text column by numbers; cells without a code become NaN.

    With codes for letters, a column of longer words is a column of sequences: a feature a letter.
    """
    if all(map(pd.api.types.is_numeric_dtype, table.dtypes)):
        return table.astype(np.float64)  # there may be very many columns
    columns: list[pd.DataFrame] = []
    for column in table:
        values = table[column]
        numbers = pd.to_numeric(values.astype(object), errors="coerce").astype(np.float64)
        text = numbers.isna() & values.notna()
        if not text.any():
            columns.append(numbers.to_frame())
        elif encode is None:
            place = int(np.flatnonzero(text)[0])
            raise DataError(
                f"dataset {name!r}: column {column!r} holds text, {values.iloc[place]!r} in row {place + 1}. "
                f"Leave the column out (drop = [{column!r}]), or say how text becomes numbers: "
                "encode = 'onehot', or encode = { word = number, ... }"
                + (". If the first line names the columns: header = true" if place == 0 else "")
            )
        elif encode == "onehot":
            columns.append(pd.get_dummies(values, prefix=str(column), dtype=np.float64).where(values.notna(), np.nan))
        elif isinstance(encode, dict):
            columns.append(_by_codes(values, encode, name))
    return pd.concat(columns, axis=1) if columns else pd.DataFrame(index=table.index)


def _by_codes(values: pd.Series, codes: dict[str, float], name: str) -> pd.DataFrame:
    text = values.astype("string").str.strip()
    letters = all(len(symbol) == 1 for symbol in codes)
    lengths = text.str.len().dropna().unique()
    if not letters or lengths.max() == 1:
        return text.map(codes).astype(np.float64).to_frame()
    if len(lengths) > 1:
        raise DataError(
            f"dataset {name!r}: column {values.name!r} holds sequences of {lengths.min()} to {lengths.max()} "
            "letters; they must all be of one length"
        )
    cells = [[codes.get(letter, np.nan) for letter in word] for word in text.fillna(" " * int(lengths[0]))]
    return pd.DataFrame(cells, index=values.index).add_prefix(f"{values.name}.")


def whole_rows(features: pd.DataFrame, target: pd.Series, missing: str, name: str) -> NDArray[np.bool_]:
    """Which rows have every value; refuses the others unless they may be left out."""
    usable = (features.abs() < LARGEST).to_numpy()  # false for NaN and infinity
    whole = usable.all(axis=1) & target.notna().to_numpy()
    if pd.api.types.is_numeric_dtype(target):
        whole &= (target.abs() < LARGEST).to_numpy()
    if missing == "error" and not whole.all():
        row = int(np.flatnonzero(~whole)[0])
        column = int(np.argmin(usable[row]))
        where, value = (
            ("target", target.iloc[row])
            if usable[row].all()
            else (features.columns.tolist()[column], float(features.to_numpy()[row, column]))
        )
        raise DataError(
            f"dataset {name!r}: column {where!r} has no usable number in row {row + 1} (read as {value}); "
            f"{int((~whole).sum())} of {len(whole)} rows are like that. Mend the file, or leave such rows out: "
            "missing = 'drop'"
        )
    return whole


def is_numbers(values: pd.Series) -> bool:
    """Whether all labels are numbers, or read as such."""
    return bool(pd.to_numeric(values.astype(object), errors="coerce").notna().all())


def encode_target(values: pd.Series, task: str, positive: Sequence[str] | None, name: str) -> Floats:
    """Labels as numbers: two classes as -1 and +1, a regression target of numbers as it is."""
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
            f"dataset {name!r}: a regression target must be numbers, or labels of two classes; it holds "
            f"{labels.iloc[row]!r} in row {int(values.index[row]) + 1}"
        )
    classes = sorted(values.unique().tolist()) if numeric else sorted(labels.unique().tolist())
    written = [_written(label) for label in classes]
    if positive is not None:
        unknown = [label for label in positive if label not in written]
        if unknown:
            raise DataError(
                f"dataset {name!r}: positive = {list(positive)} names {unknown[0]!r}, which is not among "
                f"the labels: {', '.join(written[:10])}"
            )
        chosen = set(positive)
    else:
        chosen = set(written[-1:])
        if len(classes) > 2:
            raise DataError(
                f"dataset {name!r}: the target has {len(classes)} classes ({', '.join(written[:5])}"
                f"{', ...' if len(classes) > 5 else ''}); more than two are not supported yet. Put some of them "
                f"against the rest: positive = ['{written[0]}']" + (", or set task = 'regression'" if numeric else "")
            )
    if len(classes) < 2 or len(chosen) == len(classes):
        raise DataError(f"dataset {name!r}: all samples are of one class, {written[0]!r}; there is nothing to learn")
    return np.where(labels.isin(chosen), 1.0, -1.0)


def _written(label: object) -> str:
    """A label as a person writes it: a 2.0 of a table is 2."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()
