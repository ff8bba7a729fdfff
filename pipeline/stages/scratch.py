"""Hold the arrays of a task in memory, or in a temporary file if they do not fit."""

import os
import tempfile
from types import TracebackType
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats


class Scratch:
    """Named arrays, kept in memory as long as they fit, and otherwise in a file that is deleted afterwards.

    The file is in the directory for temporary files (`TMPDIR`). It has no name, so it is deleted even if a worker is
    killed.

    Parameters
    ----------
    max_bytes
        Maximum size of the arrays in memory; further arrays are written to the file.
    """

    def __init__(self, max_bytes: int) -> None:
        self._free = max_bytes
        self._kept: dict[tuple[str, int], Floats] = {}
        self._places: dict[tuple[str, int], tuple[int, tuple[int, ...]]] = {}
        """Start and shape of each array in the file."""
        self._size = 0
        self._directory = tempfile.gettempdir()
        self._file = tempfile.TemporaryFile(dir=self._directory, buffering=0)  # noqa: SIM115 (closed in __exit__)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._kept.clear()
        self._file.close()

    def put(self, kind: str, number: int, values: Floats) -> None:
        """Store an array, or replace one of the same shape."""
        key = (kind, number)
        if key in self._kept or (key not in self._places and values.nbytes <= self._free):
            self._free -= 0 if key in self._kept else values.nbytes
            self._kept[key] = values
            return
        if key not in self._places:
            self._places[key] = (self._size, values.shape)
            self._size += values.nbytes
        start, shape = self._places[key]
        if shape != values.shape:
            raise ValueError(f"array {key} has the shape {shape}, not {values.shape}")
        remaining = np.ascontiguousarray(values).view(np.uint8).reshape(-1).data
        while remaining:
            try:
                written = os.pwrite(self._file.fileno(), remaining, start)
            except OSError as error:
                error.filename = self._directory
                raise
            remaining, start = remaining[written:], start + written

    def get(self, kind: str, number: int) -> Floats:
        """Return an array."""
        key = (kind, number)
        if key in self._kept:
            return self._kept[key]
        start, shape = self._places[key]
        values = np.empty(shape)
        remaining = values.view(np.uint8).reshape(-1).data
        while remaining:
            read = os.preadv(self._file.fileno(), [remaining], start)
            if not read:
                raise EOFError(f"the temporary file in {self._directory} is shorter than what was written to it")
            remaining, start = remaining[read:], start + read
        return values
