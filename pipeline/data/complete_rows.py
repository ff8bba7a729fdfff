"""Find the complete rows of a table, and describe unusable values in error messages."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from kernel_pipeline.data.column_encoding import MISSING_WORDS
from kernel_pipeline.data.encoding import MAX_MAGNITUDE, EncodedFeatures
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans


def usable_cells(features: pd.DataFrame, missing: str) -> Booleans:
    """Return which cells contain a finite number of usable size, or a missing value that is imputed."""
    usable: Booleans = (features.abs() < MAX_MAGNITUDE).to_numpy(bool)  # false for NaN and infinity
    return usable | features.isna().to_numpy() if _imputes(missing) else usable


def complete_rows(
    features: EncodedFeatures,
    usable: Booleans,
    target: pd.Series | pd.DataFrame,
    missing: str,
    name: str,
    used: Booleans | None = None,
) -> Booleans:
    """Find the rows that have a label, and usable values in all columns that are used.

    Parameters
    ----------
    features
        The feature columns.
    usable
        Which of their cells can be used, from `usable_cells`.
    target
        The labels, with one column per output if there are several.
    missing
        As in the config. Rows without a label are also left out if missing values of features are imputed.
    name
        Name of the dataset, for error messages.
    used
        Which of the columns are used; by default, all of them.

    Raises
    ------
    DataError
        If a row has an unusable value, unless `missing` allows it.
    """
    if used is not None:
        usable = usable | ~used
    labels = target.to_frame() if isinstance(target, pd.Series) else target
    has_label = np.column_stack([_usable_labels(labels[column]) for column in labels])
    complete: Booleans = np.asarray(usable.all(axis=1) & has_label.all(axis=1))
    wrong = ~complete
    if _imputes(missing):
        wrong &= ~labels.isna().any(axis=1).to_numpy()
    if missing != "drop" and wrong.any():
        row = int(np.argmax(wrong))
        in_label = usable[row].all()
        found = _unusable_label(labels, has_label, row) if in_label else _unusable_feature(features, usable, row)
        total = int(wrong.sum())
        others = f"; {total} rows have such a cell in at least one column" if total > found.rows else ""
        raise DataError(
            f"dataset {name!r}: {found.what} in data row {row + 1}; this is the case in {found.rows} of "
            f"{len(complete)} rows{others}. {_fixes(missing, has_features=usable.shape[1] > 0)}"
        )
    return complete


@dataclass(frozen=True)
class _UnusableColumn:
    """A column with unusable cells."""

    what: str
    """The column, and what is wrong with its first unusable cell."""
    rows: int
    """Number of rows with such a cell."""


def _unusable_feature(features: EncodedFeatures, usable: Booleans, row: int) -> _UnusableColumn:
    """Describe the first unusable feature of a row, by the column and the cell of the source."""
    index = int(np.argmin(usable[row]))
    column = features.origins[index]
    derived = [origin == column for origin in features.origins]
    what = _describe(features.table[column].iloc[row], features.frame.iloc[row, index])
    return _UnusableColumn(f"column {column!r} {what}", int((~usable[:, derived].all(axis=1)).sum()))


def _unusable_label(labels: pd.DataFrame, usable: Booleans, row: int) -> _UnusableColumn:
    """Describe the first unusable label of a row."""
    index = int(np.argmin(usable[row]))
    what = _describe(labels.iloc[row, index], labels.iloc[row, index])
    return _UnusableColumn(f"target column {labels.columns.tolist()[index]!r} {what}", int((~usable[:, index]).sum()))


def _imputes(missing: str) -> bool:
    """Return whether missing values of features are imputed."""
    return missing not in ("error", "drop")


def _usable_labels(labels: pd.Series) -> Booleans:
    """Find the labels that are present and, if they are numbers, of a usable size."""
    present: Booleans = labels.notna().to_numpy()
    return present & (labels.abs() < MAX_MAGNITUDE).to_numpy() if pd.api.types.is_numeric_dtype(labels) else present


def _describe(cell: object, number: object) -> str:
    """Describe a cell that has no usable number: as it is in the source, and as a number."""
    if pd.isna(cell):  # type: ignore[call-overload]
        return "is empty"
    if not isinstance(cell, str) or not pd.isna(number):  # type: ignore[call-overload]
        return f"has no usable number (found {cell})"
    if cell in MISSING_WORDS:
        return f"has no value (found {cell!r})"
    return f"has text to which encode assigns no number ({cell!r})"


def _fixes(missing: str, has_features: bool) -> str:
    """Return the ways to correct the file or the config."""
    if _imputes(missing):
        return f"missing = {missing!r} fills only empty cells of features. Fix the file, or drop rows: missing = 'drop'"
    filled = (
        ". Empty cells of features can also be filled: missing = 'mean', 'median' or 'most-frequent', which drops only "
        "the rows without a label"
    )
    return f"Fix the file, or drop these rows: missing = 'drop'{filled if has_features else ''}"
