"""From a data frame with columns of several types to a `RawTable`."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from kernel_pipeline.data.encoding import encode_features, whole_rows
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.errors import DataError
from kernel_pipeline.text import printable

TARGET = "target"
"""Name of the target column in frames that readers build themselves."""
MAX_LISTED = 20
"""Largest number of column names in an error message."""


def from_frame(
    frame: pd.DataFrame,
    name: str,
    *,
    target: int | str = -1,
    positive: list[str] | None = None,
    drop: Sequence[int | str] = (),
    encode: str | Mapping[str, float] | None = None,
    missing: str = "error",
) -> RawTable:
    """Choose the target and the features of a data frame, and encode the features as numbers.

    Parameters
    ----------
    frame
        Columns of numbers or text.
    name
        Name of the dataset, for error messages.
    target, positive, drop, encode, missing
        As in `kernel_pipeline.config.datasets.TableDataset`. The target "" is the last column.
    """
    features, labels = split_columns(frame, name, target, drop)
    encoded = encode_features(features, encode, name)
    whole = whole_rows(encoded, labels, missing, name)
    return RawTable(
        features=encoded[whole].to_numpy(np.float64),
        names=[printable(str(column)) for column in encoded.columns],
        target=labels[whole],
        rows=np.flatnonzero(whole),
        left_out=int((~whole).sum()),
        positive=positive,
    )


def split_columns(
    frame: pd.DataFrame, name: str, target: int | str = -1, drop: Sequence[int | str] = ()
) -> tuple[pd.DataFrame, pd.Series]:
    """Return the feature columns and the target column."""
    label = frame.columns[-1] if target == "" else _find_column(frame, target, "target", name)
    dropped = [_find_column(frame, column, "drop", name) for column in drop]
    if label in dropped:
        raise DataError(f"dataset {name!r}: drop = {list(drop)} contains the target column {label!r}")
    features = frame.drop(columns=[*dropped, label])
    if features.shape[1] == 0:
        raise DataError(
            f"dataset {name!r}: there is no feature column besides the target {label!r}. Is the format correct?"
        )
    return features, frame[label]


def _find_column(frame: pd.DataFrame, wanted: int | str, key: str, name: str) -> Hashable:
    """Return the label of a column that is given by its name, or by its number from either end."""
    columns: list[Hashable] = list(frame.columns)
    if isinstance(wanted, int) and wanted not in columns:  # columns without a name have their numbers as labels
        if not -len(columns) <= wanted < len(columns):
            raise DataError(
                f"dataset {name!r}: {key} = {wanted} is out of range; the table has {len(columns)} columns, "
                f"so {-len(columns)} to {len(columns) - 1} are allowed"
            )
        return columns[wanted]
    if wanted not in columns:
        listed = ", ".join(map(repr, columns[:MAX_LISTED])) + (", ..." if len(columns) > MAX_LISTED else "")
        raise DataError(
            f"dataset {name!r}: {key} = {wanted!r} is not a column; there are: {listed}. Columns have names only if "
            "the first line of the file contains them"
        )
    return wanted
