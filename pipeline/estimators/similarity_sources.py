"""Read parts of views and of precomputed matrices, which may be larger than memory."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from sklearn.utils.validation import check_array

from kernel_pipeline.estimators.input_errors import explained_input
from kernel_pipeline.tasks.arrays import Floats

EXTENSIONS = (".npy", ".zarr")
# Number of rows that are read at once in a pass over a view.
ROWS = 4096


class Source(Protocol):
    """A matrix that is read in parts."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""

    def read(self, rows: slice, columns: slice = slice(None)) -> Floats:
        """Return a part as floats."""


@dataclass(frozen=True)
class ArraySource:
    """An array in memory, or an object that reads slices, such as a zarr array."""

    array: Any
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows and columns."""
        return tuple(self.array.shape)

    def read(self, rows: slice, columns: slice = slice(None)) -> Floats:
        """Return a part as floats."""
        return _finite(np.asarray(self.array[rows, columns], dtype=np.float64), self.name, rows, columns)


@dataclass(frozen=True)
class FileSource:
    """A matrix in a file, which each process maps into memory itself."""

    path: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    offset: int
    order: str

    def read(self, rows: slice, columns: slice = slice(None)) -> Floats:
        """Return a part as floats."""
        mapped = np.memmap(self.path, self.dtype, "r", self.offset, self.shape, self.order)  # type: ignore[call-overload]
        return _finite(np.array(mapped[rows, columns], dtype=np.float64), self.name, rows, columns)


def open_source(name: str, given: Any) -> Source:
    """Return the source of a view or matrix.

    Parameters
    ----------
    name
        Name of the view or matrix in messages.
    given
        An array, a DataFrame, a `numpy.memmap`, an object with `shape` that reads slices, or the path of a .npy or
        .zarr file.

    Raises
    ------
    ValueError
        If it is not a matrix of numbers.
    """
    if isinstance(given, str | Path):
        given = _open(name, Path(given))
    if isinstance(given, np.memmap) and given.ndim == 2 and given.dtype.kind in "biuf" and _is_whole(given):
        order = "C" if given.flags.c_contiguous else "F"
        return FileSource(str(given.filename), name, given.shape, given.dtype.str, int(given.offset), order)
    if hasattr(given, "shape") and hasattr(given, "dtype"):
        if len(given.shape) != 2 or np.dtype(given.dtype).kind not in "biuf":
            raise ValueError(f"{name}: must be a matrix of numbers (n, d); got {given.dtype} of shape {given.shape}")
        if not isinstance(given, np.ndarray):
            return ArraySource(given, name)
    with explained_input(given, name):
        return ArraySource(check_array(given, dtype=np.float64, input_name=name), name)


def row_blocks(rows: int) -> list[slice]:
    """Return the slices in which all rows are read."""
    return [slice(start, min(start + ROWS, rows)) for start in range(0, rows, ROWS)]


def _open(name: str, path: Path) -> Any:
    if path.suffix not in EXTENSIONS:
        raise ValueError(f"{name}: must be an array, or a file that ends in {' or '.join(EXTENSIONS)}; got {path}")
    if path.suffix == ".zarr":
        import zarr

        return zarr.open_array(path, mode="r")
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ValueError(f"{name}: cannot read {path}: {error}. Save the array again with numpy.save") from None


def _is_whole(given: "np.memmap[Any, Any]") -> bool:
    """Return whether a memory map was opened from a file; a slice of a map has the offset of the whole map."""
    return given.filename is not None and not isinstance(given.base, np.memmap)


def _finite(values: Floats, name: str, rows: slice, columns: slice) -> Floats:
    """Return the values of a part; raise a `ValueError` that names the first one that is not finite."""
    finite = np.isfinite(values)
    if not finite.all():
        row, column = np.argwhere(~finite)[0]
        place = f"[{(rows.start or 0) + row}, {(columns.start or 0) + column}]"
        raise ValueError(
            f"{name}: contains NaN or infinity, first the value {values[row, column]} at {place}, counted from 0. "
            "Leave out such rows, in all views"
        )
    return values
