"""Define the interface of file formats, and their registry."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.config.other_formats import EXTENSIONS
from kernel_pipeline.errors import DataError, PipelineError
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:  # validating a config needs only the names of the formats
    import pandas as pd
    import scipy.sparse

    from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class ReadOptions:
    """Options for reading a file, in addition to its path."""

    dataset: str
    """Name of the dataset, for error messages."""
    header: bool | None = None
    """Whether the first line contains the names of the columns; None if the format has to detect it."""
    drop: Sequence[int | str] = ()
    """Columns that are dropped later, so they must be in the frame even if they are empty."""
    separator: str | None = None
    """Character between two columns; None if the format has to detect it."""
    decimal: str = "."
    """Decimal separator of numbers."""
    encoding: str = "utf-8"
    """Encoding of text files."""
    has_config: bool = True
    """Whether a config sets the options, so that messages may advise to change it."""


@dataclass(frozen=True)
class Detected:
    """Options that were found in a file, and remarks about them for the user."""

    options: ReadOptions
    notes: tuple[str, ...]
    header_hint: str = ""
    """What to do if the first line, which is read as a sample, is a header; empty if it is not likely to be one."""


@dataclass(frozen=True)
class SparseColumns:
    """The content of a file as a sparse matrix, which may lack columns that are empty."""

    features: scipy.sparse.csr_array
    """Feature matrix of shape (m, d)."""
    columns: Integers
    """Number in the file of each of the d columns."""
    target: Floats
    """Labels of the m rows."""


@dataclass(frozen=True)
class Format:
    """Functions that read files of one format.

    They may raise any exception: `explain_errors` turns it into an error message. If the message of the exception says
    what to correct, it should be a `FileContentError`.
    """

    read: Callable[[Path, ReadOptions], pd.DataFrame]
    """Read a file as a data frame."""
    marks_target: bool = False
    """Whether the format defines the target, which is then the last column of the frame."""
    read_sparse: Callable[[Path], SparseColumns] | None = None
    """Read a file as a sparse matrix, if the format supports it; columns that are empty may be left out."""
    detect: Callable[[Path, ReadOptions], Detected] | None = None
    """Detect the options that the config does not set, before the file is read."""
    keys: frozenset[str] = frozenset()
    """Which of the keys `separator`, `decimal` and `encoding` a dataset may have."""


FORMATS: Registry[Format] = Registry("file format")
"""Formats by the value of the key `format` of a dataset."""


def register(name: str, entry: Format, *extensions: str) -> None:
    """Register a format, and the extensions by which its files are recognised, such as ".csv"."""
    FORMATS.register(name)(entry)
    for extension in extensions:
        EXTENSIONS.register(extension)(name)


class FileContentError(ValueError):
    """A file cannot be read; the message also says what to correct."""


@contextmanager
def explain_errors(path: Path, format_name: str, dataset: str, for_model: bool = False) -> Iterator[None]:
    """Raise a `DataError` that says what to do for any exception that a broken file causes.

    Parameters
    ----------
    for_model
        Whether the file has new rows for a model, so that the message cannot propose to change a config.
    """
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:  # readers raise exceptions of many types
        reason = str(error).strip().rstrip(".") or "no data found"
        if not isinstance(error, FileContentError):
            fix = "give it the extension of its format" if for_model else "set format if it has another format"
            reason += f". Save the file again, or {fix}"
        place = "" if for_model else f"dataset {dataset!r}: "
        raise DataError(f"{place}cannot read {path} as {format_name!r}: {reason}") from None
