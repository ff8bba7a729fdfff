"""Compute the kernels of a tile, and the sums from which the statistics of all trials are derived, in one pass.

The sums are those of the shifted kernels `E = K - shift`. They are computed separately for each pair of folds, and the
sums of several tiles are added. A tile is processed in blocks that are small enough for the cache of the processor.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Fill

# Size of the p kernels of a block, which should stay in the cache while they are multiplied with each other.
BLOCK_BYTES = 1 << 20


@dataclass
class Sums:
    """Sums over some tiles, for F folds, p kernels, T label columns and m samples.

    For two different folds, the entries (f, g) and (g, f) add up to the sum over both blocks of the kernel matrices. If
    the folds are contiguous, entries with f > g are zero.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("products", "labels", "rows", "diagonal")
    """Names of the stored arrays, in the order of the fields."""

    products: Floats
    """Inner products of kernels k and l over a pair of folds, (F, F, p, p)."""
    label_products: Floats
    """y' E_k y over a pair of folds, (T, F, F, p)."""
    rows: Floats
    """Sums of each row over the columns of a fold, (F, p, m)."""
    diagonal: Floats
    """Diagonal entries, (p, m); 0 for samples whose diagonal tile is not among the tiles."""

    @classmethod
    def zeros(cls, folds: int, kernels: int, label_columns: int, samples: int) -> "Sums":
        """Return sums that are all zero."""
        return cls(*map(np.zeros, cls.shapes(folds, kernels, label_columns, samples).values()))

    @staticmethod
    def shapes(folds: int, kernels: int, label_columns: int, samples: int) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the four arrays by their stored names."""
        return {
            "products": (folds, folds, kernels, kernels),
            "labels": (label_columns, folds, folds, kernels),
            "rows": (folds, kernels, samples),
            "diagonal": (kernels, samples),
        }

    def arrays(self) -> dict[str, Floats]:
        """Return the four arrays by their stored names."""
        return dict(zip(self.NAMES, vars(self).values(), strict=True))

    def reordered(self, order: Integers) -> "Sums":
        """Return the sums for the same samples in another order: sample `order[i]` becomes sample i."""
        return replace(self, rows=self.rows[:, :, order], diagonal=self.diagonal[:, order])

    def __iadd__(self, other: "Sums") -> "Sums":
        added = other.arrays()
        for name, values in self.arrays().items():
            values += added[name]
        return self


def add_tile(
    sums: Sums,
    fill: Fill,
    labels: Floats,
    bounds: Integers,
    tile: tuple[slice, slice],
    values: Floats | None = None,
) -> None:
    """Compute the tile (rows, columns) of all kernels, and add its sums to `sums`.

    Parameters
    ----------
    fill
        Function that computes blocks of the shifted kernels. It is called with blocks on or above the diagonal, in
        which rows and columns are the same samples or do not overlap.
    labels
        Labels in fold order, (m, T).
    bounds
        Start of each fold, followed by m.
    tile
        Rows and columns of the tile, on or above the diagonal: the same slice twice, or rows before columns.
    values
        Array for the kernels, (p, rows, columns); None if only the sums are needed. It is reused between tiles,
        because the operating system clears new memory, which takes as long as computing the kernels.
    """
    for block in blocks(fill, len(sums.diagonal), bounds, tile):
        if values is not None:
            copy_block(values, tile, block)
        _add_block(sums, block, labels)


def compute_tile(fill: Fill, bounds: Integers, tile: tuple[slice, slice], values: Floats) -> None:
    """Compute the tile (rows, columns) of all kernels into `values`, bitwise equal to the values of `add_tile`."""
    for block in blocks(fill, len(values), bounds, tile):
        copy_block(values, tile, block)


def block_side(kernels: int) -> int:
    """Return the largest number of rows and columns of a block, given the number of kernels."""
    return max(16, int((BLOCK_BYTES / (8 * kernels)) ** 0.5))


@dataclass(frozen=True)
class Block:
    """The kernels of a part of a tile, whose rows are in one fold and whose columns are in one fold."""

    row_fold: int
    rows: slice
    column_fold: int
    columns: slice
    values: Floats
    """Values of all kernels, (p, rows, columns). The array is reused for the next block."""

    @property
    def is_diagonal(self) -> bool:
        """Return whether rows and columns are the same samples."""
        return bool(self.rows.start == self.columns.start)


def blocks(fill: Fill, kernels: int, bounds: Integers, tile: tuple[slice, slice]) -> Iterator[Block]:
    """Yield the blocks of a tile on and above the diagonal; those below it follow from the symmetry of kernels."""
    tile_rows, tile_columns = tile
    side = block_side(kernels)
    buffer = np.empty(kernels * side * side)
    for row_fold, rows in _fold_parts(tile_rows, bounds, side):
        for column_fold, columns in _fold_parts(tile_columns, bounds, side):
            if columns.start < rows.start:
                continue
            shape = (kernels, rows.stop - rows.start, columns.stop - columns.start)
            values = buffer[: math.prod(shape)].reshape(shape)
            fill(rows, columns, values)
            yield Block(row_fold, rows, column_fold, columns, values)


def copy_block(values: Floats, tile: tuple[slice, slice], block: Block) -> None:
    """Copy a block to its place in a tile, and to the mirrored place if the tile is on the diagonal."""
    tile_rows, tile_columns = tile
    values[:, _relative(block.rows, tile_rows), _relative(block.columns, tile_columns)] = block.values
    if not block.is_diagonal and tile_rows == tile_columns:
        mirrored = block.values.transpose(0, 2, 1)
        values[:, _relative(block.columns, tile_rows), _relative(block.rows, tile_columns)] = mirrored


def _add_block(sums: Sums, block: Block, labels: Floats) -> None:
    """Add the sums of a block, and those of its mirror image if it is not on the diagonal."""
    folds = block.row_fold, block.column_fold
    factor = 1.0 if block.is_diagonal else 2.0
    p, height, width = block.values.shape
    flat = block.values.reshape(p, -1)
    sums.products[folds] += factor * (flat @ flat.T)
    # Matrix-vector products are three times as fast as sums over an axis.
    all_rows = block.values.reshape(p * height, width)
    sums.rows[block.column_fold, :, block.rows] += (all_rows @ np.ones(width)).reshape(p, height)
    for number, column in enumerate(labels.T):
        row_products = (all_rows @ column[block.columns]).reshape(p, height)
        sums.label_products[(number, *folds)] += factor * (row_products @ column[block.rows])
    if block.is_diagonal:
        sums.diagonal[:, block.rows] += np.diagonal(block.values, axis1=1, axis2=2)
    else:
        sums.rows[block.row_fold, :, block.columns] += np.ones(height) @ block.values


def _fold_parts(span: slice, bounds: Integers, side: int) -> Iterator[tuple[int, slice]]:
    """Split a span at the bounds of folds and into equal parts of at most `side`; yield each fold and part."""
    for fold, (fold_start, fold_stop) in enumerate(pairwise(bounds)):
        start, stop = max(int(fold_start), span.start), min(int(fold_stop), span.stop)
        if start < stop:
            cuts = np.linspace(start, stop, -(-(stop - start) // side) + 1).astype(int)
            for part_start, part_stop in pairwise(cuts.tolist()):
                yield fold, slice(part_start, part_stop)


def _relative(part: slice, whole: slice) -> slice:
    """Return a part of a span as a slice that is relative to the start of the span."""
    return slice(part.start - whole.start, part.stop - whole.start)
