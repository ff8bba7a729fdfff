"""Define the kernel of one trial as learners receive it: a square that they may overwrite, and blocks of rows.

The kernel of the training samples is held in memory once. That of the held-out samples is needed only for predictions,
and is computed or read in blocks of rows.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.centering import center_rows, center_square

# Number of rows in a block of a kernel that is in memory.
ROWS = 512


@dataclass(frozen=True)
class TrialKernel:
    """The kernel of one trial, centered with the means of its training samples."""

    train: Floats
    """Kernel of the training samples, (n, n), in C order. A learner may overwrite it."""
    held_out: Callable[[], Iterator[Floats]]
    """Function that yields the kernel of held-out samples against training samples in blocks of rows, (rows, n).

    The samples are in the order of `Split.held_out`. A block may be changed, and is valid until the next one.
    """

    @classmethod
    def of(cls, kernel: Floats, train: Integers, held_out: Integers) -> "TrialKernel":
        """Return the centered kernel of a trial, given a kernel of all samples, (m, m), that is exactly symmetric."""
        return center_trial_kernel(kernel[np.ix_(train, train)], lambda: _row_blocks(kernel, held_out, train))

    @classmethod
    def of_centered(cls, centered: Floats, train: Integers, held_out: Integers) -> "TrialKernel":
        """Return the kernel of a trial, given the centered kernel of all samples against those of training, (m, n)."""
        columns = np.arange(len(train))
        return cls(np.ascontiguousarray(centered[train]), lambda: _row_blocks(centered, held_out, columns))

    def divided(self, divisor: float) -> "TrialKernel":
        """Return the kernel divided by a number; the square is overwritten."""

        def blocks() -> Iterator[Floats]:
            for rows in self.held_out():
                rows /= divisor
                yield rows

        return replace(self, train=np.divide(self.train, divisor, out=self.train), held_out=blocks)


def center_trial_kernel(square: Floats, blocks: Callable[[], Iterator[Floats]]) -> TrialKernel:
    """Center the kernel of a trial in place.

    Parameters
    ----------
    square
        Kernel of the training samples, exactly symmetric, in C order; it is overwritten.
    blocks
        Function that yields the kernel of held-out samples in blocks of rows, which are overwritten.
    """
    offsets = center_square(square)

    def centered_blocks() -> Iterator[Floats]:
        for rows in blocks():
            center_rows(rows, offsets)
            yield rows

    return TrialKernel(square, centered_blocks)


def empty_rows(rows: int, columns: int) -> Floats:
    """Return an empty array for a block of rows, in Fortran order, so that sums are rounded alike for all blocks."""
    return np.empty((columns, rows)).T


def _row_blocks(kernel: Floats, rows: Integers, columns: Integers) -> Iterator[Floats]:
    for start in range(0, len(rows), ROWS):
        chosen = rows[start : start + ROWS]
        block = empty_rows(len(chosen), len(columns))
        block[...] = kernel[np.ix_(chosen, columns)]
        yield block
