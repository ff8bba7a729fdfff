"""Read files of precomputed kernels: npy and zarr in parts, npz as a whole."""

import json
import math
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Self

import numpy as np

from kernel_pipeline.data.data_directory import require_path
from kernel_pipeline.data.source_files import file_state
from kernel_pipeline.data.table_size import exceeded_memory
from kernel_pipeline.errors import DataError, PipelineError, TooLargeError
from kernel_pipeline.tasks.arrays import FLOAT_BYTES, Floats, Integers
from kernel_pipeline.text import format_bytes

ZARR = ".zarr"
SAVED_WITH = {".npy": "numpy.save", ".npz": "numpy.savez", ZARR: "zarr.save_array"}
"""Functions that save an array in a format, by the extension of its files."""


class OpenKernels:
    """The kernels of an open file, as an array (p, m, m) of which parts can be read."""

    def __init__(self, array: Any) -> None:
        self._array = array
        self._is_single = array.ndim == 2

    @property
    def height(self) -> int:
        """Number of rows that are stored together, so that reading some of them costs as much as reading all."""
        return 1 if isinstance(self._array, np.ndarray) else int(self._array.chunks[-2])

    def read(self, kernel: int, rows: Integers, columns: Integers) -> Floats:
        """Read some rows and columns of one kernel; both are in ascending order, and each occurs once."""
        selected = (_as_slice(rows), _as_slice(columns))
        if isinstance(self._array, np.ndarray):
            matrix = self._array if self._is_single else self._array[kernel]
            is_scattered = not any(isinstance(indices, slice) for indices in selected)
            values = matrix[np.ix_(rows, columns) if is_scattered else selected]
        else:
            values = self._array.oindex[selected if self._is_single else (kernel, *selected)]
        return np.ascontiguousarray(values, dtype=np.float64)


@dataclass(frozen=True)
class KernelFile:
    """A file of precomputed kernels."""

    path: Path
    where: str
    """The dataset, the entry of its kernels and the file, for error messages."""
    count: int
    """Number of kernels, p."""
    dtype: np.dtype[Any]
    state: tuple[int, int]
    """Size and time of modification when the file was first opened."""
    clip: bool = False
    """Whether a kernel that is not positive semi-definite is replaced by its positive part."""

    @classmethod
    def from_path(
        cls,
        path: Path,
        key: str,
        dataset: str,
        rows: int,
        left_out: int = 0,
        clip: bool = False,
        header_hint: str = "",
    ) -> Self:
        """Check the shape and type of a file without reading its numbers, and return it.

        Parameters
        ----------
        key, dataset
            The key that gives the path, and the name of the dataset, for error messages.
        rows
            Number of rows of the source, including those that are left out.
        left_out
            Number of rows of the source that are not usable.
        header_hint
            What to do if the first row of the source contains the names of the columns.

        Raises
        ------
        DataError
            If there is no such file, or it does not contain kernels of this size.
        """
        require_path(path, "folder" if path.suffix == ZARR else "file", dataset, key)
        where = f"dataset {dataset!r}: {key}: {path.name}"
        if path.suffix not in OPENERS:
            raise DataError(f"{where}: the name of the file must end in {' or '.join(OPENERS)}")
        with _explain_errors(path, where):
            shape, dtype = _array_header(path)
        if dtype.kind not in "biuf":
            fix = "its real part: K.real" if dtype.kind == "c" else "it as numbers: K.astype(float)"
            raise DataError(f"{where} has the type {dtype}; real numbers are required. Save {fix}")
        if shape[-2:] != (rows, rows) or len(shape) not in (2, 3) or 0 in shape:
            hint = f". {header_hint}" if header_hint and shape[-2:] == (rows - 1, rows - 1) else ""
            raise DataError(f"{where} has the shape {shape}; {_expected(rows, left_out)}{hint}")
        if path.suffix == ".npz":
            _check_size(where, shape, dtype)
        return cls(path, where, 1 if len(shape) == 2 else shape[0], dtype, file_state(path), clip)

    @contextmanager
    def open(self) -> Iterator[OpenKernels]:
        """Open the file for a `with` block; reading it may raise a `DataError`."""
        with _explain_errors(self.path, self.where):
            if file_state(self.path) != self.state:
                raise DataError(f"{self.where} was changed while it was read. Run the same command again")
            yield OpenKernels(OPENERS[self.path.suffix](self.path))

    def name(self, kernel: int) -> str:
        """Return the name of one of the matrices for messages."""
        return self.where if self.count == 1 else f"{self.where}[{kernel}]"


@contextmanager
def _explain_errors(path: Path, where: str) -> Iterator[None]:
    """Raise a `DataError` that says what to do for any exception that a broken file causes."""
    try:
        yield
    except PipelineError:
        raise
    except Exception as error:  # libraries raise exceptions of many types
        reason = str(error).strip() or type(error).__name__
        raise DataError(
            f"{where} cannot be read: {reason}. Save the kernel again with {SAVED_WITH[path.suffix]}, or set path to "
            "another file"
        ) from None


def _expected(rows: int, left_out: int) -> str:
    """Return a description of the required shape."""
    text = (
        f"({rows}, {rows}) is required, or (p, {rows}, {rows}) for p kernels: one row and one column per row of the "
        "source, in its order"
    )
    if left_out:
        rows_left_out = "row that is" if left_out == 1 else f"{left_out} rows that are"
        text += f", including the {rows_left_out} left out because of missing values"
    return text


def _as_slice(indices: Integers) -> slice | Integers:
    """Return consecutive indices as a slice, which is faster to read."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first + 1 == len(indices) else indices


def _open_npy(path: Path) -> Any:
    array = np.load(path, mmap_mode="r", allow_pickle=False)
    # A symmetric matrix in column-major order is read by its transpose, whose rows are contiguous.
    return array.swapaxes(-1, -2) if array.flags.fnc else array


def _open_npz(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as arrays:
        (name,) = arrays
        array: Any = arrays[name]
        return array


def _open_zarr(path: Path) -> Any:
    import zarr

    try:
        return zarr.open_array(str(path), mode="r")
    except (zarr.errors.BaseZarrError, json.JSONDecodeError, KeyError):
        raise ValueError("it is not a zarr array") from None


OPENERS: dict[str, Callable[[Path], Any]] = {".npy": _open_npy, ".npz": _open_npz, ZARR: _open_zarr}
"""Functions that open a file, by its extension."""


def _array_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of the array in a file, without reading its numbers."""
    if path.suffix == ZARR:
        array = _open_zarr(path)
        return tuple(array.shape), np.dtype(array.dtype)
    if path.suffix == ".npy":
        return _npy_header(path)
    if not zipfile.is_zipfile(path):
        raise ValueError("it is not an npz file")
    with zipfile.ZipFile(path) as archive:
        names = [name.removesuffix(".npy") for name in archive.namelist()]
        if len(names) != 1:
            raise ValueError(f"it contains {len(names)} arrays ({', '.join(names[:5])}); one array is required")
        with archive.open(archive.namelist()[0]) as member:
            return _read_header(member, f"its entry {archive.namelist()[0]!r} is not an array")


def _npy_header(path: Path) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of the array in an npy file; raise a `ValueError` if the file is truncated."""
    with path.open("rb") as file:
        shape, dtype = _read_header(file, "it is not an npy file")
        missing = file.tell() + math.prod(shape) * dtype.itemsize - path.stat().st_size
    if missing > 0 and not dtype.hasobject:
        raise ValueError(f"it is incomplete: {missing:,} bytes of its array of shape {shape} are missing")
    return shape, dtype


def _read_header(file: IO[bytes], reason: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and the type of the array in an open npy file; raise a `ValueError` if it is not one."""
    try:
        version = np.lib.format.read_magic(file)
        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(file)
    except (ValueError, EOFError):
        raise ValueError(reason) from None
    return shape, dtype


def _check_size(where: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    """Raise a `TooLargeError` if the array of an npz file and one matrix as float64 do not fit into memory."""
    needed = math.prod(shape) * dtype.itemsize + FLOAT_BYTES * shape[-1] ** 2
    if (limit := exceeded_memory(needed)) is not None:
        raise TooLargeError(
            f"{where}: npz is read as a whole, which needs {format_bytes(needed)} of memory for an array of shape "
            f"{shape}, but this machine has {format_bytes(limit)}. Save it with numpy.save as npy, or as zarr: these "
            "are read in parts"
        )
