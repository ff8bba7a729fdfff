"""Tables as sources deliver them, and the registry of the functions that read them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:  # modules of sources import this one when a config is validated
    import pandas as pd
    import scipy.sparse

    from kernel_pipeline.config.datasets import DatasetBase
    from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class RawTable:
    """All usable rows of a source: features as numbers, and labels as they are in the source."""

    features: Floats | scipy.sparse.csr_array
    """Feature matrix of shape (m, d); a sparse one stays sparse."""
    names: list[str]
    """Names of the d columns."""
    target: pd.Series
    """Labels, numbers or text; its index holds the row numbers of the source."""
    rows: Integers
    """Row number in the source, such as the line of a file, of each of the m rows."""
    left_out: int
    """Number of rows of the source that are not usable."""
    positive: list[str] | None = None
    """Labels that become +1, where the config lists them."""
    class_labels: pd.Series | None = None
    """Labels for classification, where they differ from `target`."""


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
