"""Add the sums of a tile for several assignments of the same samples to folds, with the kernels computed once.

The samples of a tile are sorted by their folds in two assignments at a time, so that each product of kernels serves
two assignments; the sorted entries are gathered from a copy of the tile in which all kernels of an entry are adjacent.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.linalg.blas import dgemm

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Fill
from kernel_pipeline.tasks.statistics.sums import Sums, blocks, copy_block

# Minimum number of rows of a tile per combination of the folds of two assignments; products of kernels over fewer rows
# are slow.
ROWS_PER_COMBINATION = 8
# Maximum number of entries of an array of products with permuted labels; permutations are processed in batches.
MAX_PERMUTED_ENTRIES = 4_000_000
# Up to this number of kernels, a general matrix product (gemm) is faster than a symmetric one, despite twice the work.
MAX_KERNELS_GEMM = 24


def add_repeated_tile(
    sums: Sequence[Sums],
    folds: Integers,
    memory: Floats,
    fill: Fill,
    labels: Floats,
    bounds: Integers,
    tile: tuple[slice, slice],
    values: Floats | None = None,
    permuted: Sequence["PermutedSums"] = (),
) -> None:
    """Compute the tile (rows, columns) of all kernels, and add its sums for each assignment of samples to folds.

    Parameters
    ----------
    sums
        Sums of each assignment, to which those of the tile are added.
    folds
        Fold of each sample in each assignment, (R, m), in any order.
    memory
        Array of at least as many numbers as the kernels of the tile have; it is overwritten, and reused between tiles.
    fill, labels, tile, values
        As for `add_tile`.
    bounds
        Bounds at which the computed blocks are split, as for `compute_tile`.
    permuted
        Products with permuted labels, to which those of the tile are added; one per assignment, or none.
    """
    rows, columns = tile
    kernels = len(sums[0].diagonal)
    shape = (rows.stop - rows.start, columns.stop - columns.start, kernels)
    entries = memory[: math.prod(shape)].reshape(shape)
    by_kernel = np.moveaxis(entries, -1, 0)
    for block in blocks(fill, kernels, bounds, tile):
        copy_block(by_kernel, tile, block)
        if values is not None:
            copy_block(values, tile, block)
    for group in _groups(len(sums), len(sums[0].products), shape[0]):
        _add_group([sums[r] for r in group], entries, labels, folds[list(group)], tile)
    for products, fold in zip(permuted, folds if len(permuted) else (), strict=True):
        products.add(entries, labels, fold, tile)
    if rows == columns:
        for found in sums:
            found.diagonal[:, rows] += np.diagonal(entries)
    else:
        _add_rows(sums, entries, folds, tile)


@dataclass(frozen=True)
class PermutedSums:
    """Products of kernels with permuted labels, for one assignment of samples to folds."""

    orders: Integers
    """Permutations of the samples within folds, (N, m)."""
    label_blocks: Sequence[Sequence[int]]
    """Label columns of each problem."""
    products: Floats
    """y' E_k y over pairs of folds, summed over the columns of a block, (problems, N, F, F, p)."""

    def add(self, entries: Floats, labels: Floats, fold: Integers, tile: tuple[slice, slice]) -> None:
        """Add the products of a tile, given the kernels of each entry, (rows, columns, p)."""
        rows, columns = tile
        width, kernels = entries.shape[1:]
        times = 1.0 if rows == columns else 2.0  # a tile on the diagonal contains each pair of samples twice
        indicator = times * _indicator(fold[columns], self.products.shape[2])
        size = max(1, MAX_PERMUTED_ENTRIES // (width * kernels))
        for number in np.unique(fold[rows]):
            chosen = np.flatnonzero(fold[rows] == number)
            slab = entries[chosen].reshape(len(chosen), width * kernels)
            for start in range(0, len(self.orders), size):
                part = slice(start, start + size)
                row_order, column_order = self.orders[part, rows][:, chosen], self.orders[part, columns]
                for problem, column in ((p, c) for p, block in enumerate(self.label_blocks) for c in block):
                    found = (labels[row_order, column] @ slab).reshape(-1, width, kernels)
                    found *= labels[column_order, column][:, :, None]
                    self.products[problem, part, number] += indicator @ found


def _groups(repeats: int, folds: int, side: int) -> Iterator[range]:
    """Yield the assignments whose sums are computed together.

    These are two, unless too few samples would share a combination of folds.
    """
    size = 2 if side >= ROWS_PER_COMBINATION * folds**2 else 1
    for first in range(0, repeats, size):
        yield range(first, min(first + size, repeats))


@dataclass(frozen=True)
class _FoldCombinations:
    """Samples of one side of a tile, sorted by the combination of their folds in all assignments of a group."""

    order: Integers
    """Sorted positions within the tile."""
    bounds: list[int]
    """Start of each combination in `order`, followed by the length of `order`."""
    folds: Integers
    """Folds of each combination, (assignments, combinations)."""

    @classmethod
    def of(cls, folds: Integers) -> "_FoldCombinations":
        """Return the combinations of samples, given their folds in each assignment, (assignments, samples)."""
        order = np.lexsort(folds[::-1])
        ordered = folds[:, order]
        starts = np.flatnonzero(np.append(True, (ordered[:, 1:] != ordered[:, :-1]).any(axis=0)))
        return cls(order, [*starts.tolist(), len(order)], ordered[:, starts])

    def indicator(self, assignment: int, folds: int) -> Floats:
        """Return a matrix with 1 where a combination has a fold of an assignment, else 0, (folds, combinations)."""
        return _indicator(self.folds[assignment], folds)


def _add_group(
    sums: Sequence[Sums], entries: Floats, labels: Floats, folds: Integers, tile: tuple[slice, slice]
) -> None:
    """Add the products of kernels, the sums of columns and the products with labels for one group of assignments.

    The sums of columns are sums of rows of the mirrored tile.
    """
    rows, columns = tile
    height, width, kernels = entries.shape
    by_row, by_column = (_FoldCombinations.of(folds[:, span]) for span in tile)
    spans = list(pairwise(by_column.bounds))
    of_combination = [by_column.indicator(number, len(found.products)) for number, found in enumerate(sums)]
    of_column = [_indicator(fold[columns], len(found.products)) for fold, found in zip(folds, sums, strict=True)]
    factors = np.vstack([np.ones(height), labels[rows].T])  # the first row gives sums of columns
    column_sums = [np.zeros((len(found.products), width, kernels)) for found in sums]
    products = np.zeros((len(spans), kernels, kernels))
    largest = max(stop - start for start, stop in pairwise(by_row.bounds))
    slab_memory, sorted_memory = np.empty((2, largest * width, kernels))
    for number, (start, stop) in enumerate(pairwise(by_row.bounds)):
        chosen = by_row.order[start:stop]
        count = stop - start
        slab = slab_memory[: count * width]
        np.take(entries, chosen, axis=0, out=slab.reshape(count, width, kernels), mode="clip")
        weighted = (factors[:, chosen] @ slab.reshape(count, width * kernels)).reshape(-1, width, kernels)
        places = (by_column.order[:, None] + width * np.arange(count)).ravel()
        ordered = np.take(slab, places, axis=0, out=sorted_memory[: len(places)], mode="clip")
        # A tile on the diagonal contains each pair of samples twice, so the combinations before this one are left out.
        first = number if rows == columns else 0
        for place, (begin, end) in enumerate(spans[first:], start=first):
            _multiply(ordered[begin * count : end * count], products[place])
        times = np.where(np.arange(len(spans)) < first, 0.0, 2.0)
        times[first] -= rows == columns
        label_products = (1.0 if rows == columns else 2.0) * labels[columns].T[:, :, None] * weighted[1:]
        for r, found in enumerate(sums):
            fold = by_row.folds[r, number]
            found.products[fold] += np.tensordot(of_combination[r] * times, products, axes=1)
            found.label_products[:, fold] += of_column[r] @ label_products
            column_sums[r][fold] += weighted[0]
    for found, total in zip(sums, column_sums, strict=True):
        found.rows[:, :, columns] += np.moveaxis(total, 1, 2)


def _multiply(block: Floats, out: Floats) -> None:
    """Compute the inner products of all kernels over a block of entries, (entries, p)."""
    if block.shape[1] > MAX_KERNELS_GEMM:
        np.matmul(block.T, block, out=out)
    else:
        dgemm(1.0, block.T, block.T, trans_b=True, c=out.T, overwrite_c=True)


def _add_rows(sums: Sequence[Sums], entries: Floats, folds: Integers, tile: tuple[slice, slice]) -> None:
    """Add the sums of the rows of a tile that is not on the diagonal, for all assignments at once."""
    rows, columns = tile
    counts = [len(found.products) for found in sums]
    indicators = [_indicator(fold[columns], count) for fold, count in zip(folds, counts, strict=True)]
    parts = np.split(np.concatenate(indicators) @ entries, np.cumsum(counts)[:-1], axis=1)
    for found, part in zip(sums, parts, strict=True):
        found.rows[:, :, rows] += np.moveaxis(part, 0, 2)


def _indicator(folds: Integers, count: int) -> Floats:
    """Return a matrix whose entry (k, i) is 1 if element i is in fold k, else 0, (count, elements)."""
    return np.asarray(folds == np.arange(count)[:, None], dtype=np.float64)
