"""Replace missing values of features by the mean, the median or the most frequent value of their column."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernel_pipeline.config.datasets import ImputationStrategy
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.listing import list_first

MAX_NAMED_COLUMNS = 5
"""Maximum number of columns that a note lists."""


@dataclass(frozen=True)
class Imputation:
    """The values that replace missing ones."""

    values: Floats
    """One value per column; NaN for columns that are not imputed."""

    @classmethod
    def fit(
        cls,
        features: Floats,
        strategy: ImputationStrategy,
        columns: Sequence[int],
        one_hot_groups: Sequence[Sequence[int]] = (),
    ) -> Self:
        """Compute the values from some samples.

        Parameters
        ----------
        features
            Features of the samples to fit on, with NaN for missing values.
        strategy
            As in scikit-learn's `SimpleImputer`; of several values that are most frequent, the smallest is used.
        columns
            Columns whose missing values are replaced, in these or in other samples.
        one_hot_groups
            Groups of columns of zeros and ones that encode one text column each. Such columns are imputed together, by
            the most frequent text.

        Examples
        --------
        >>> features = np.array([[1.0, 0.0], [1.0, 5.0], [4.0, np.nan]])
        >>> Imputation.fit(features, "mean", columns=[1]).apply(features).tolist()
        [[1.0, 0.0], [1.0, 5.0], [4.0, 2.5]]
        >>> Imputation.fit(features, "most-frequent", columns=[1]).apply(features).tolist()
        [[1.0, 0.0], [1.0, 5.0], [4.0, 0.0]]
        """
        values, imputed = np.full(features.shape[1], np.nan), set(columns)
        for column in columns:
            present = features[~np.isnan(features[:, column]), column]
            if len(present):
                values[column] = _typical(present, strategy)
        for group in one_hot_groups:
            members = [column for column in group if column in imputed]
            present = features[~np.isnan(features[:, members]).any(axis=1)][:, members]
            if members and len(present):
                values[members] = _most_frequent_text(present)
        return cls(values)

    def apply(self, features: Floats) -> Floats:
        """Replace the missing values of any samples."""
        return np.where(np.isnan(features), self.values, features)

    def check(self, columns: Sequence[int], names: Sequence[Hashable], where: str, which: str) -> None:
        """Raise a `DataError` if a column has no value to fit on.

        Parameters
        ----------
        columns
            Columns with missing values.
        names
            For each column, the name of the column of the source from which it was derived.
        where, which
            The dataset, and the samples to which the values are fitted, for the message.
        """
        empty = [names[column] for column in columns if np.isnan(self.values[column])]
        if empty:
            raise DataError(
                f"{where}: column {empty[0]!r} has no value in {which}, so its missing values cannot be "
                "imputed; add this column to 'drop'"
            )


def incomplete_columns(features: Floats) -> list[int]:
    """Return the columns with missing values."""
    return np.flatnonzero(np.isnan(features).any(axis=0)).tolist()


def imputation_note(features: Floats, strategy: ImputationStrategy, origins: Sequence[Hashable]) -> str:
    """Return a note that counts the cells of the source that are imputed.

    Parameters
    ----------
    origins
        For each column of the features, the name of the column of the source from which it was derived.

    Examples
    --------
    >>> features = np.array([[1.0, np.nan, np.nan], [np.nan, 0.0, 1.0]])
    >>> imputation_note(features, "mean", ["age", "sex", "sex"])
    "missing = 'mean': 2 of 4 feature values are imputed, in columns 'age' (1), 'sex' (1)"
    """
    is_missing: dict[Hashable, Booleans] = {}
    for column in incomplete_columns(features):
        empty = np.isnan(features[:, column])
        is_missing[origins[column]] = empty | is_missing.get(origins[column], False)
    counts = {name: int(empty.sum()) for name, empty in is_missing.items()}
    named = list_first([f"{name!r} ({count:,})" for name, count in counts.items()], MAX_NAMED_COLUMNS)
    return (
        f"missing = {strategy!r}: {sum(counts.values()):,} of {len(features) * len(set(origins)):,} feature values are "
        f"imputed, in column{'s' if len(counts) > 1 else ''} {named}"
    )


def _typical(present: Floats, strategy: ImputationStrategy) -> float:
    """Return the value that replaces missing ones of a column, given the others."""
    match strategy:
        case "mean":
            return float(present.mean())
        case "median":
            return float(np.median(present))
        case "most-frequent":
            found, counts = np.unique(present, return_counts=True)
            return float(found[counts.argmax()])


def _most_frequent_text(present: Floats) -> Floats:
    """Return the row of zeros and ones of the most frequent text; all zeros if it has no column here."""
    counts = present.sum(axis=0)
    row = np.zeros(present.shape[1])
    if counts.max() >= len(present) - counts.sum():
        row[counts.argmax()] = 1.0
    return row
