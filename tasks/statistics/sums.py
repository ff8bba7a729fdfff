"""One pass over a tile: its kernels, and the sums from which the statistics of every trial follow.

The sums are additive over tiles, split by fold, and taken over the shifted kernels `E = K - shift`.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Fill

# All p kernels of a square must stay in cache while they are multiplied with each other.
SQUARE_BYTES = 1 << 20


@dataclass
class Sums:
    """Sums over some tiles. F folds, p kernels, T targets, m samples.

    A pair of folds (f, g) with f < g holds the sum over the blocks (f, g) and (g, f); the other half of the array is
    zero.
    """

    products: Floats
    """(F, F, p, p): inner products of kernels k and l over the entries of a pair of folds."""
    labels: Floats
    """(T, F, F, p): y' E_k y over a pair of folds."""
    rows: Floats
    """(F, p, m): sums of each row over the columns of a fold."""
    diagonal: Floats
    """(p, m): the diagonal entries; 0 for samples whose diagonal tile is not among the tiles."""

    @classmethod
    def zeros(cls, folds: int, kernels: int, targets: int, samples: int) -> "Sums":
        """Return the sums over no tile."""
        return cls(**{name: np.zeros(shape) for name, shape in cls.shapes(folds, kernels, targets, samples).items()})

    @staticmethod
    def shapes(folds: int, kernels: int, targets: int, samples: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the four arrays by name."""
        return {
            "products": (folds, folds, kernels, kernels),
            "labels": (targets, folds, folds, kernels),
            "rows": (folds, kernels, samples),
            "diagonal": (kernels, samples),
        }

    def arrays(self) -> dict[str, Floats]:
        """Return the four arrays by name."""
        return vars(self)

    def __iadd__(self, other: "Sums") -> "Sums":
        for name, values in self.arrays().items():
            values += getattr(other, name)
        return self


def add_tile(
    sums: Sums,
    fill: Fill,
    targets: Floats,
    bounds: Integers,
    tile: tuple[slice, slice],
    values: Floats,
) -> None:
    """Compute the tile (rows, columns) of all kernels into `values` and add its sums to `sums`.

    Parameters
    ----------
    fill
        Computes blocks of the shifted kernels; it is called with blocks on or above the diagonal, in which rows and
        columns are the same samples or do not overlap.
    targets
        (m, T), in fold order.
    bounds
        Start of each fold, followed by m.
    tile
        On or above the diagonal: the same slice twice, or rows before columns.
    values
        (p, rows, columns). An argument, because the operating system clears new memory: a new array for each tile
        would cost as much as its kernels.
    """
    rows, columns = tile
    p = len(sums.diagonal)
    side = max(16, int((SQUARE_BYTES / (8 * p)) ** 0.5))
    memory = np.empty(p * side * side)
    for f, above in _pieces(rows, bounds, side):
        for g, left in _pieces(columns, bounds, side):
            if left.start < above.start:
                continue  # the mirror image of another square
            mirrored = left.start > above.start
            shape = (p, above.stop - above.start, left.stop - left.start)
            square = memory[: math.prod(shape)].reshape(shape)
            fill(above, left, square)
            values[:, _within(above, rows), _within(left, columns)] = square
            if mirrored and rows == columns:
                values[:, _within(left, rows), _within(above, columns)] = square.transpose(0, 2, 1)
            _add_square(sums, square, targets, (f, above), (g, left), mirrored)


def _add_square(
    sums: Sums,
    square: Floats,
    targets: Floats,
    row_piece: tuple[int, slice],
    column_piece: tuple[int, slice],
    mirrored: bool,
) -> None:
    (f, above), (g, left) = row_piece, column_piece
    times = 2.0 if mirrored else 1.0
    p, height, width = square.shape
    flat = square.reshape(p, -1)
    sums.products[f, g] += times * (flat @ flat.T)
    # Matrix-vector products take a third of the time of a sum over an axis.
    lines = square.reshape(p * height, width)
    sums.rows[g, :, above] += (lines @ np.ones(width)).reshape(p, height)
    for number, target in enumerate(targets.T):
        sums.labels[number, f, g] += times * ((lines @ target[left]).reshape(p, height) @ target[above])
    if mirrored:
        sums.rows[f, :, left] += np.ones(height) @ square
    else:
        sums.diagonal[:, above] += np.diagonal(square, axis1=1, axis2=2)


def _pieces(span: slice, bounds: Integers, side: int) -> Iterator[tuple[int, slice]]:
    """Cut a span at the bounds of folds and into equal parts of at most `side`; yield the fold and the part."""
    for fold, (begin, end) in enumerate(pairwise(bounds)):
        lo, hi = max(int(begin), span.start), min(int(end), span.stop)
        if lo < hi:
            cuts = np.linspace(lo, hi, -(-(hi - lo) // side) + 1).astype(int)
            for start, stop in pairwise(cuts.tolist()):
                yield fold, slice(start, stop)


def _within(part: slice, whole: slice) -> slice:
    return slice(part.start - whole.start, part.stop - whole.start)
