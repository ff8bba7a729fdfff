"""Build a `RawTable` from a data frame, and find its columns."""

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
import pandas as pd

from kernel_pipeline.cluster.strict_model import did_you_mean
from kernel_pipeline.data.complete_rows import complete_rows, usable_cells
from kernel_pipeline.data.encoding import EncodedFeatures, encode_features
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.table_rows import build_encoder
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans
from kernel_pipeline.text import NUMBER, counted, printable

TARGET = "target"
"""Name of the target column in frames that readers build themselves."""
MAX_LISTED = 20
"""Maximum number of column names in an error message."""


def table_from_numbers(
    frame: pd.DataFrame,
    name: str,
    *,
    target: int | str | Sequence[int | str] = -1,
    positive: list[str] | None = None,
) -> RawTable:
    """Build a table from a data frame in which all columns other than the target are numbers.

    Parameters
    ----------
    frame
        Columns of numbers, and a target of numbers or text.
    name
        Name of the dataset, for error messages.
    target, positive
        As in `kernel_pipeline.config.datasets.TableDataset`.
    """
    features, labels = split_columns(frame, name, target)
    return build_table(frame, encode_features(features, None), labels, name, positive=positive)


def build_table(
    frame: pd.DataFrame,
    encoded: EncodedFeatures,
    labels: pd.Series | pd.DataFrame,
    name: str,
    *,
    positive: list[str] | None = None,
    missing: str = "error",
    used: Booleans | None = None,
    encode: str | Mapping[str, float] | None = None,
    missing_values: Sequence[str | float] = (),
) -> RawTable:
    """Build a table of the rows that have a label and usable features.

    Parameters
    ----------
    frame
        The data frame, which has the features and the target.
    encoded, labels
        Its features, encoded as numbers, and its target.
    name
        Name of the dataset, for error messages.
    positive, missing, encode, missing_values
        As in `kernel_pipeline.config.datasets.TableDataset`; the last two are used to encode new rows.
    used
        Which of the features kernels use; by default, all. Other features are left out if they have unusable values.
    """
    usable = usable_cells(encoded.frame, missing)
    complete = complete_rows(encoded, usable, labels, missing, name, used)
    used_before = np.ones(len(encoded.origins), dtype=bool) if used is None else used
    if used is not None and not used.all():
        is_refused = np.array([origin in encoded.refused for origin in encoded.origins], dtype=bool)
        encoded = encoded.select(used | (usable[complete].all(axis=0) & ~is_refused))
    return RawTable(
        features=encoded.frame[complete].to_numpy(np.float64),
        names=[printable(str(column)) for column in encoded.frame.columns],
        origins=encoded.origins,
        numbers=column_numbers(frame, encoded.origins),
        one_hot_groups=encoded.one_hot_groups(),
        target=labels[complete],
        rows=np.flatnonzero(complete),
        left_out=int((~complete).sum()),
        positive=positive,
        encoder=build_encoder(frame, labels, encoded, used_before, encode, missing, missing_values),
    )


def column_numbers(frame: pd.DataFrame, columns: Sequence[Hashable]) -> list[int]:
    """Return the numbers of some columns of a frame; columns without a name have their numbers as labels."""
    labels: list[Hashable] = list(frame.columns)
    number = {label: label if isinstance(label, int) else index for index, label in enumerate(labels)}
    return [number[column] for column in columns]


def split_columns(
    frame: pd.DataFrame,
    name: str,
    target: int | str | Sequence[int | str] = -1,
    drop: Sequence[int | str] = (),
    reserved: Sequence[Hashable] = (),
    uses_features: bool = True,
) -> tuple[pd.DataFrame, pd.Series | pd.DataFrame]:
    """Return the feature columns, or none if they are not used, and one or more target columns."""
    labels = find_targets(frame, name, target)
    dropped = [find_column(frame, column, "drop", name) for column in drop]
    if both := [label for label in labels if label in dropped]:
        raise DataError(
            f"dataset {name!r}: drop = {list(drop)} contains the target column {both[0]!r}; remove it from drop, or "
            "set another target"
        )
    found = frame[labels] if len(labels) > 1 else frame[labels[0]]
    if not uses_features:
        return frame[[]], found
    features = frame.drop(columns=[*dropped, *reserved, *labels])
    if features.shape[1] == 0:
        first = ""
        if frame.size == len(frame) > 0:
            first = f"; the first row is {str(frame.iloc[0, 0])!r}. Set separator if the file uses another one"
        raise DataError(
            f"dataset {name!r}: there is no feature column besides the target {labels[0]!r}{first}. Check "
            "the value of format"
        )
    return features, found


def find_targets(frame: pd.DataFrame, name: str, target: int | str | Sequence[int | str]) -> list[Hashable]:
    """Return the labels of the target columns; the target "" is the last column."""
    wanted = [target] if isinstance(target, int | str) else list(target)
    labels = [frame.columns[-1] if one == "" else find_column(frame, one, "target", name) for one in wanted]
    if len(set(labels)) < len(labels):
        raise DataError(f"dataset {name!r}: target = {wanted} names a column more than once; list each column once")
    return labels


def find_column(frame: pd.DataFrame, wanted: int | str, key: str, name: str) -> Hashable:
    """Return the label of a column that is given by its name, or by its number from either end."""
    columns: list[Hashable] = list(frame.columns)
    if isinstance(wanted, int) and wanted not in columns:  # columns without a name have their numbers as labels
        if not -len(columns) <= wanted < len(columns):
            raise DataError(
                f"dataset {name!r}: {key} = {wanted} is out of range; the table has {counted(len(columns), 'column')}, "
                f"so {-len(columns)} to {len(columns) - 1} are allowed"
            )
        return columns[wanted]
    if wanted not in columns:
        listed = ", ".join(map(repr, columns[:MAX_LISTED])) + (", ..." if len(columns) > MAX_LISTED else "")
        names = [column for column in columns if isinstance(column, str)]
        hint = did_you_mean(str(wanted), names)
        if not names:
            hint = " Columns have names only if the first line of the file contains them"
        elif any(map(NUMBER.fullmatch, names)):
            hint = (
                " The first line of the file was read as the names of the columns; if it is a sample, give columns by "
                "number"
            )
        raise DataError(f"dataset {name!r}: {key} = {wanted!r} is not a column. Available: {listed}.{hint}")
    return wanted
