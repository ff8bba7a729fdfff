"""Check that precomputed kernels are finite, symmetric and positive semi-definite, up to rounding."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations_with_replacement

import numpy as np

from kernel_pipeline.data.kernel_files import KernelFile
from kernel_pipeline.data.table_size import exceeded_memory
from kernel_pipeline.errors import DataError, TooLargeError
from kernel_pipeline.tasks.arrays import FLOAT_BYTES, Floats, Integers
from kernel_pipeline.tasks.kernels.spectrum import (
    Spectrum,
    clip_eigenvalues,
    dense_spectrum,
    is_positive_definite,
    lanczos_spectrum,
)
from kernel_pipeline.text import counted, format_bytes

BLOCK = 1024
"""Side length of the blocks that are read. The digest depends on it."""
STRIP_BYTES = 64 << 20
"""Size of the rows that are multiplied by a vector at a time."""
ROUNDING = {4: 1e-5, 2: 1e-2}
"""Largest relative error that counts as rounding, by the bytes of a float in the file."""
DEFAULT_ROUNDING = 1e-10
MAX_ENTRY = 1e100
"""Products of larger entries, summed over all samples, would overflow."""
CHECK_COPIES = 2
"""Copies of a matrix in memory while its eigenvalues are computed."""
CLIP_COPIES = 4
"""Copies while its positive part is computed: the matrix, its eigenvectors twice, and the result."""

Read = Callable[[Integers, Integers], Floats]
"""Function that reads rows and columns of one kernel, given by their numbers in the source."""


@dataclass
class EntrySummary:
    """Results of one pass over the entries of a matrix; positions are row and column numbers of the source."""

    smallest: float = np.inf
    largest: float = -np.inf
    total: float = 0.0
    not_finite: int = 0
    first_not_finite: tuple[int, int] = (0, 0)
    asymmetry: float = 0.0
    """The largest |K[i, j] - K[j, i]|."""
    asymmetric_at: tuple[int, int] = (0, 0)
    digest: "hashlib._Hash" = field(default_factory=hashlib.sha256)

    @property
    def magnitude(self) -> float:
        """The largest absolute value."""
        return max(abs(self.smallest), abs(self.largest))

    def add(self, block: Floats, rows: Integers, columns: Integers) -> None:
        """Update the results with the entries of a block."""
        self.digest.update(np.ascontiguousarray(block, dtype="<f8").tobytes())
        wrong = np.argwhere(~np.isfinite(block))
        if len(wrong):
            position = (int(rows[wrong[0][0]]), int(columns[wrong[0][1]]))
            self.first_not_finite = min(self.first_not_finite, position) if self.not_finite else position
            self.not_finite += len(wrong)
            return
        self.smallest, self.largest = min(self.smallest, block.min()), max(self.largest, block.max())
        self.total += float(block.sum())

    def compare(self, block: Floats, mirrored: Floats, rows: Integers, columns: Integers) -> None:
        """Update the results with the difference between a block and its mirror image."""
        differences = np.abs(block - mirrored.T)
        position = np.unravel_index(np.argmax(differences), differences.shape)
        if differences[position] > self.asymmetry:
            self.asymmetry = float(differences[position])
            self.asymmetric_at = (int(rows[position[0]]), int(columns[position[1]]))


@dataclass(frozen=True)
class CheckedKernel:
    """Properties of a matrix that passed all checks."""

    smallest: float
    """Smallest entry."""
    largest: float
    """Largest entry."""
    digest: str
    """Digest of all its entries."""
    clipped: Spectrum | None = None
    """The spectrum of a matrix that has to be replaced by its positive part."""


def check_kernel(file: KernelFile, kernel: int, used: Integers) -> CheckedKernel:
    """Check one kernel on the rows of the source that are used.

    Parameters
    ----------
    kernel
        Number of the kernel in its file.
    used
        Numbers of the rows, in ascending order.

    Raises
    ------
    DataError, TooLargeError
        If the kernel cannot be used; the message states the size of the error.
    """
    name = file.name(kernel)
    tolerance = ROUNDING.get(file.dtype.itemsize, DEFAULT_ROUNDING) if file.dtype.kind == "f" else DEFAULT_ROUNDING
    with file.open() as opened:
        read = partial(opened.read, kernel)
        entries = _read_entries(read, used)
        _check_entries(entries, name, tolerance)
        spectrum = _indefinite_spectrum(read, used, entries, tolerance, opened.height)
    found = CheckedKernel(entries.smallest, entries.largest, entries.digest.hexdigest())
    if spectrum is None:
        return found
    if not file.clip or _has_no_positive_part(spectrum, tolerance):
        raise DataError(_not_semidefinite(name, spectrum, tolerance))
    needed = CLIP_COPIES * FLOAT_BYTES * len(used) ** 2
    if (limit := exceeded_memory(needed)) is not None:
        raise TooLargeError(
            f"{name}: psd = 'clip' needs {format_bytes(needed)} of memory for {len(used):,} rows, but this machine has "
            f"{format_bytes(limit)}. Choose fewer rows, or replace the matrix by its positive part yourself"
        )
    return CheckedKernel(found.smallest, found.largest, f"{found.digest} clipped", spectrum)


def clipped_kernel(read: Read, used: Integers) -> Floats:
    """Return the positive part of a kernel on the rows that are used."""
    return clip_eigenvalues(_read_whole(read, used))


def _read_entries(read: Read, used: Integers) -> EntrySummary:
    """Read every block and its mirror image once."""
    entries = EntrySummary()
    blocks = [used[start : start + BLOCK] for start in range(0, len(used), BLOCK)]
    for rows, columns in combinations_with_replacement(blocks, 2):
        block = read(rows, columns)
        entries.add(block, rows, columns)
        mirrored = block
        if rows is not columns:
            mirrored = read(columns, rows)
            entries.add(mirrored, columns, rows)
        if not entries.not_finite:
            entries.compare(block, mirrored, rows, columns)
    return entries


def _check_entries(entries: EntrySummary, name: str, tolerance: float) -> None:
    if entries.not_finite:
        row, column = entries.first_not_finite
        raise DataError(
            f"{name} has {counted(entries.not_finite, 'entry that is', 'entries that are')} NaN or infinite, the "
            f"first in row {row}, column {column} (counted from 0). All entries of the rows that are used must be "
            "finite: compute the kernel without missing or infinite features, and save it again"
        )
    if entries.magnitude > MAX_ENTRY:
        raise DataError(
            f"{name} has entries up to {entries.magnitude:.3g}; at most {MAX_ENTRY:g} is allowed. Divide the kernel "
            "by a constant: kernels are scaled to trace one in any case"
        )
    if entries.asymmetry > tolerance * entries.magnitude:
        row, column = entries.asymmetric_at
        raise DataError(
            f"{name} is not symmetric: the entry in row {row}, column {column} (counted from 0) and its mirror image "
            f"differ by {entries.asymmetry:.3g}, which is {entries.asymmetry / entries.magnitude:.3g} times the "
            f"largest absolute value; up to {tolerance:g} counts as rounding. A kernel between two different sets of "
            "samples cannot be used; otherwise, save (K + K.T) / 2"
        )


def _indefinite_spectrum(
    read: Read, used: Integers, entries: EntrySummary, tolerance: float, step: int
) -> Spectrum | None:
    """Return the spectrum of a kernel that is not positive semi-definite, even up to rounding; None for others.

    If the kernel fits into memory, a Cholesky factorisation accepts most kernels, and all eigenvalues of the others are
    computed. Otherwise, the smallest eigenvalue is estimated by a Lanczos iteration.
    """
    m = len(used)
    if entries.magnitude == 0:
        return None
    if exceeded_memory(CHECK_COPIES * FLOAT_BYTES * m**2) is not None:
        spectrum = lanczos_spectrum(lambda vector: _multiply(read, used, vector, step), m)
    else:
        # The mean of all entries times m is a Rayleigh quotient, so it is not above the largest eigenvalue.
        if is_positive_definite(_read_whole(read, used), tolerance * max(entries.total / m, 0.0)):
            return None
        spectrum = dense_spectrum(_read_whole(read, used))
    return None if spectrum.is_semidefinite(tolerance) else spectrum


def _read_whole(read: Read, used: Integers) -> Floats:
    whole = np.empty((len(used), len(used)))
    for start in range(0, len(used), BLOCK):
        whole[start : start + BLOCK] = read(used[start : start + BLOCK], used)
    return whole


def _multiply(read: Read, used: Integers, vector: Floats, step: int) -> Floats:
    """Return the product of a kernel and a vector, with a few rows (a multiple of `step`) in memory at a time.

    Entries below the diagonal are read only within each group of rows.
    """
    height = max(1, STRIP_BYTES // (FLOAT_BYTES * len(used) * step)) * step
    product = np.zeros(len(used))
    for start in range(0, len(used), height):
        stop = min(start + height, len(used))
        strip = read(used[start:stop], used[start:])
        product[start:stop] += strip @ vector[start:]
        product[stop:] += strip[:, stop - start :].T @ vector[start:stop]
    return product


def _not_semidefinite(name: str, spectrum: Spectrum, tolerance: float) -> str:
    smallest = f"is {spectrum.smallest:.3g}"
    if spectrum.negative is None:
        smallest = f"is at most {spectrum.smallest:.3g} (estimated by a Lanczos iteration)"
    magnitude = max(spectrum.largest, -spectrum.smallest)
    text = (
        f"{name} is not positive semi-definite: its smallest eigenvalue {smallest}; its absolute value is "
        f"{-spectrum.smallest / magnitude:.3g} times the largest one ({magnitude:.3g})"
    )
    if _has_no_positive_part(spectrum, tolerance):
        return f"{text}; no eigenvalue is positive. Save -K if its sign is wrong; otherwise, correct the kernel"
    return (
        f"{text}; up to {tolerance:g} counts as rounding. Correct the kernel, or set psd = 'clip' to replace it by its "
        "positive part"
    )


def _has_no_positive_part(spectrum: Spectrum, tolerance: float) -> bool:
    """Return whether all eigenvalues are negative or zero, up to rounding."""
    return spectrum.largest <= -tolerance * spectrum.smallest
