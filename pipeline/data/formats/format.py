"""The interface of a file format, and the registry of formats."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.errors import DataError, PipelineError
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:  # a config is validated with the names of the formats alone
    import pandas as pd
    import scipy.sparse

    from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class ReadOptions:
    """What a format may need to know besides the path of the file."""

    dataset: str
    """Name of the dataset, for error messages."""
    header: bool = False
    """Whether the first line contains the names of the columns."""
    drop: Sequence[int | str] = ()
    """Columns that are dropped later, so they must be in the frame even if they are empty."""


@dataclass(frozen=True)
class SparseColumns:
    """A file as a sparse matrix without its empty columns."""

    features: scipy.sparse.csr_array
    """Feature matrix of shape (m, d)."""
    columns: Integers
    """Number in the file of each of the d columns."""
    target: Floats
    """Labels of the m rows."""


@dataclass(frozen=True)
class Format:
    """How to read files of one format.

    The functions may raise any exception: `explain_errors` turns it into an error message.
    """

    read: Callable[[Path, ReadOptions], pd.DataFrame]
    """Read a file as a data frame."""
    marks_target: bool = False
    """Whether the format itself says what the target is; it is the last column of the frame then."""
    read_sparse: Callable[[Path], SparseColumns] | None = None
    """Read a file as a sparse matrix, if the format supports it."""


FORMATS: Registry[Format] = Registry("file format")
"""Formats by the name that the key `format` of a dataset holds."""


@contextmanager
def explain_errors(path: Path, format_name: str, dataset: str) -> Iterator[None]:
    """Raise a `DataError` for any exception that a broken file causes."""
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:  # readers raise exceptions of many types
        reason = str(error).strip() or "no data found"
        raise DataError(f"dataset {dataset!r}: cannot read {path} as {format_name!r}: {reason}") from None
