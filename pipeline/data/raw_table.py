"""Define the tables that sources return, and the registry of the functions that read them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:  # modules of sources import this one when a config is validated
    import pandas as pd
    import scipy.sparse

    from kernel_pipeline.config.datasets import DatasetBase
    from kernel_pipeline.data.new_rows import RowEncoder
    from kernel_pipeline.data.vocabulary import VocabularyOptions
    from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers


@dataclass(frozen=True)
class RawTable:
    """All usable rows of a source: features as numbers, and unchanged labels of the source."""

    features: Floats | scipy.sparse.csr_array
    """Feature matrix of shape (m, d), with NaN for values that are to be imputed; a sparse one stays sparse."""
    names: list[str]
    """Names of the d columns."""
    target: pd.Series | pd.DataFrame
    """Labels, numbers or text, with one column per output if there are several; indexed by row number in the source."""
    rows: Integers
    """Row number in the source, such as the line of a file, of each of the m rows."""
    left_out: int
    """Number of rows of the source that are not usable."""
    positive: list[str] | None = None
    """Labels that become +1, if the config lists them."""
    class_labels: pd.Series | None = None
    """Labels for classification, if they differ from `target`."""
    groups: pd.Series | None = None
    """Group of each of the m rows, if the samples of a group stay in one fold."""
    given_folds: pd.Series | None = None
    """Label of the fold of each of the m rows, if the folds are given; not used for rows of a fixed test set."""
    test: Booleans | None = None
    """Whether each of the m rows belongs to the test set, if that is fixed."""
    notes: tuple[str, ...] = ()
    """Notes for the user about how the source was read, one sentence each."""
    header_hint: str = ""
    """What to do if the first row contains the names of the columns; empty if it does not seem to."""
    origins: Sequence[Hashable] | None = None
    """Name of the source column from which each of the d columns was derived; None if the names are equal."""
    numbers: Sequence[int] | Integers | None = None
    """Number of the source column of each of the d columns, counted as in `target` and `drop`; None for 0, 1, 2, ..."""
    one_hot_groups: Sequence[Sequence[int]] = ()
    """Indices of the columns of zeros and ones, one per category, that encode each one-hot encoded source column."""
    vocabulary: VocabularyOptions | None = None
    """How to choose and weight words, if `features` are the counts of all words."""
    encoder: RowEncoder | None = None
    """Encoder of new rows as `features`; None if the source does not support new rows."""

    @property
    def feature_columns(self) -> FeatureColumns:
        """Names and source columns of the features; not stored, since there may be millions of them."""
        numbers = range(len(self.names)) if self.numbers is None else map(int, self.numbers)
        return FeatureColumns.of(self.names, self.names if self.origins is None else self.origins, tuple(numbers))


Reader = Callable[[Any, Path, int], RawTable]
"""Function of a dataset, the data directory and the seed of the sweep."""

READERS: Registry[Reader] = Registry("reader of a data source")
"""Readers by the name of the source; the module of a source registers its own."""


def read_source(dataset: DatasetBase, folder: Path, seed: int) -> RawTable:
    """Read a dataset from its source.

    Raises
    ------
    DataError
        If the source cannot be read or has rows that cannot be used.
    """
    return READERS[dataset.source](dataset, folder, seed)
