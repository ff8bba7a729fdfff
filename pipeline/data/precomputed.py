"""Read the precomputed kernels of a dataset in the order of its folds."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.families import family_of
from kernel_pipeline.data.data_directory import data_path
from kernel_pipeline.data.kernel_checks import CheckedKernel, Read, check_kernel, clipped_kernel
from kernel_pipeline.data.kernel_files import KernelFile
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import FLOAT_BYTES, Floats, Integers
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_names
from kernel_pipeline.tasks.kernels.precomputed import PrecomputedFamily, StoredFamily, exact_shift
from kernel_pipeline.text import counted

STRIP_BYTES = 256 << 20
"""Size of the rows that are reordered at a time. A zarr array is read once for each strip of this size."""


def find_kernel_files(dataset: DatasetBase, folder: Path, table: RawTable) -> list[KernelFile]:
    """Check the shapes of the precomputed kernels of a dataset, and return their files, one per family.

    Raises
    ------
    DataError
        If there is no such file, or its shape does not match the source.
    """
    files = []
    for number, family in enumerate(map(family_of, dataset.kernels)):
        if isinstance(family, PrecomputedFamily):
            path = data_path(folder, family.path)
            key = f"kernels[{number}].path"
            rows, clip = len(table.rows) + table.left_out, family.psd == "clip"
            files.append(
                KernelFile.from_path(path, key, dataset.name, rows, table.left_out, clip, header_hint=table.header_hint)
            )
    return files


@dataclass(frozen=True)
class StoredKernel:
    """One kernel of a file."""

    file: KernelFile
    number: int
    """Index in the file."""
    found: CheckedKernel

    @property
    def shift(self) -> float:
        """Constant that is subtracted from the entries before they are summed."""
        return 0.0 if self.found.clipped else exact_shift(self.found.smallest, self.found.largest)

    @property
    def is_constant(self) -> bool:
        """Whether all entries are equal."""
        return self.found.smallest == self.found.largest


@dataclass(frozen=True)
class PrecomputedKernels:
    """All precomputed kernels of a dataset, which stay in their files: parts of them are read when they are needed."""

    kernels: tuple[StoredKernel, ...]
    counts: tuple[int, ...]
    """Number of kernels of each family."""
    order: Integers
    """Row number in the source of each sample."""

    @classmethod
    def from_files(cls, files: Sequence[KernelFile], order: Integers, no_other_kernels: bool = False) -> Self:
        """Check all kernels, and return them.

        Parameters
        ----------
        no_other_kernels
            Whether the dataset has no other kernels, so that at least one of these must vary.

        Raises
        ------
        DataError, TooLargeError
            If a kernel cannot be used.
        """
        used = np.sort(order)
        kernels = [
            StoredKernel(file, number, check_kernel(file, number, used))
            for file in files
            for number in range(file.count)
        ]
        if no_other_kernels and all(kernel.is_constant for kernel in kernels):
            first = kernels[0]
            raise DataError(
                f"{first.file.name(first.number)} is constant: all entries are {first.found.largest:g}; no kernel of "
                "this dataset varies, so there is nothing to learn from. Set path to another file, or add a family to "
                "kernels"
            )
        return cls(tuple(kernels), tuple(file.count for file in files), order)

    @property
    def shifts(self) -> tuple[tuple[float, ...], ...]:
        """The shift of each kernel of each family."""
        shifts = iter(kernel.shift for kernel in self.kernels)
        return tuple(tuple(next(shifts) for _ in range(count)) for count in self.counts)

    @property
    def fingerprint(self) -> str:
        """Digest of all entries that are used."""
        return hashlib.sha256(
            repr([self.counts, *(kernel.found.digest for kernel in self.kernels)]).encode()
        ).hexdigest()

    def notes(self, families: Sequence[GramFamily]) -> tuple[str, ...]:
        """Return a note about each clipped kernel, given the families of the dataset, which name the kernels."""
        names = kernel_names([family for family in families if isinstance(family, StoredFamily)])
        return tuple(
            f"kernel {name}: psd = 'clip' set {counted(clipped.negative or 0, 'negative eigenvalue')} to 0; the sum of "
            f"their absolute values was {clipped.negative_share:.3g} times that of all eigenvalues, and the smallest "
            f"was {clipped.smallest:.3g} (the largest is {clipped.largest:.3g})"
            for name, kernel in zip(names, self.kernels, strict=True)
            if (clipped := kernel.found.clipped)
        )

    def tiles(self, kernel: int, tile_size: int) -> Iterator[tuple[tuple[int, int], Floats]]:
        """Yield the tiles (i, j), i <= j, of one kernel in fold order; those on the diagonal are exactly symmetric.

        The two entries of a pair of samples may differ by rounding, so one of them is used for both.
        """
        m = len(self.order)
        height = max(1, STRIP_BYTES // (FLOAT_BYTES * m * tile_size)) * tile_size
        with self._open(kernel) as read:
            for start in range(0, m, height):
                stop = min(start + height, m)
                strip = read(slice(start, stop), slice(start, m))
                for top in range(start, stop, tile_size):
                    for left in range(top, m, tile_size):
                        part = strip[top - start : top - start + tile_size, left - start : left - start + tile_size]
                        yield (top // tile_size, left // tile_size), mirrored(part) if left == top else part

    def dense(self) -> Floats:
        """Return all kernels in fold order, (p, m, m)."""
        m = len(self.order)
        return np.stack([values for kernel in range(len(self.kernels)) for _, values in self.tiles(kernel, m)])

    @contextmanager
    def _open(self, kernel: int) -> Iterator[Callable[[slice, slice], Floats]]:
        """Open a kernel for a `with` block, and yield a function that reads a part of it in fold order."""
        stored, used = self.kernels[kernel], np.sort(self.order)
        with stored.file.open() as opened:
            read = partial(opened.read, stored.number)
            if stored.found.clipped:
                whole, position = clipped_kernel(read, used), np.searchsorted(used, self.order)
                yield lambda rows, columns: whole[np.ix_(position[rows], position[columns])]
            else:
                yield lambda rows, columns: _in_order(read, self.order[rows], self.order[columns])


def mirrored(square: Floats) -> Floats:
    """Return a square matrix with its lower triangle replaced by the mirror image of the upper one."""
    upper = np.triu(square)
    return np.asarray(upper + np.triu(square, 1).T)


def _in_order(read: Read, rows: Integers, columns: Integers) -> Floats:
    """Read rows and columns in any order; files are read in ascending order."""
    ascending = np.sort(rows), np.sort(columns)
    positions = (np.searchsorted(known, wanted) for known, wanted in zip(ascending, (rows, columns), strict=True))
    return read(*ascending)[np.ix_(*positions)]
