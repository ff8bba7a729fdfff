"""Assemble symmetric matrices, and the kernels of trials, from tiles on and above the diagonal."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernel_pipeline.stages.tile_sources import Tile, TileSource, tile_slices, tiles_on_and_above_diagonal
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel, center_trial_kernel, empty_rows
from kernel_pipeline.tasks.progress import report_progress

# Maximum bytes of the kernel of the held-out samples that is assembled together with that of the training samples.
# The rows of a larger one are read or computed when they are needed, in a second pass over the tiles. Stored tiles of
# held-out samples are then read twice, since `TileSource.skip` reads them in the first pass as well, to verify them;
# tiles that are not stored are computed twice only if they also contain pairs of training samples.
HELD_OUT_BYTES = 64 << 20


def assemble(source: TileSource, samples: int, tile_size: int, chosen: slice = slice(None)) -> Floats:
    """Return one symmetric matrix, (m, m), or the chosen ones of several, (count, m, m)."""
    matrices = np.empty(0)
    for tile in tiles_on_and_above_diagonal(samples, tile_size):
        values = source.read(tile)
        values = values[chosen] if values.ndim > 2 else values
        if not matrices.size:
            matrices = np.empty((*values.shape[:-2], samples, samples))
        rows, columns = tile_slices(tile, tile_size, samples)
        matrices[..., rows, columns] = values
        matrices[..., columns, rows] = np.swapaxes(values, -1, -2)
    return matrices


def assemble_trial(source: TileSource, split: Split, tile_size: int) -> TrialKernel:
    """Return the centered kernel of a trial, given the tiles of one kernel of all samples."""
    grid, n = _Grid(source, split.train, len(split.target), tile_size), len(split.train)
    rows = _held_out_rows(split, tile_size)
    if 8 * n * len(split.held_out) > HELD_OUT_BYTES:
        return center_trial_kernel(grid.square(), lambda: (grid.fill(block) for block in _empty_blocks(rows, n)))
    blocks = list(_empty_blocks(rows, n))
    square = grid.square(blocks)
    return center_trial_kernel(square, lambda: (block.values.copy(order="K") for block in blocks))


class TrialPanels:
    """The kernel of a trial in parts, none of which is centered: panels of training samples, and held-out rows.

    Parameters
    ----------
    source
        Tiles of one kernel of all samples.
    width
        Maximum number of training samples in a panel; a panel contains whole rows of tiles, and always at least one.
    """

    def __init__(self, source: TileSource, split: Split, tile_size: int, width: int) -> None:
        self._grid = _Grid(source, split.train, len(split.target), tile_size)
        self._split, self._tile_size = split, tile_size
        self._first_rows = [0]
        """First row of tiles of each panel, followed by the number of rows of tiles."""
        self.bounds = [0]
        """Index of the first training sample of each panel, followed by the number of training samples."""
        for index, (_, places) in enumerate(self._grid.training):
            if places.stop - self.bounds[-1] > width and places.start > self.bounds[-1]:
                self._first_rows.append(index)
                self.bounds.append(places.start)
        self._first_rows.append(len(self._grid.training))
        self.bounds.append(len(split.train))

    def panel(self, number: int) -> Floats:
        """Return a panel: the rows of its samples, and the columns of these and of all later samples."""
        return self._grid.panel(self._first_rows[number], self._first_rows[number + 1])

    def held_out(self) -> Iterator[Floats]:
        """Yield the kernel of the held-out samples against the training samples in blocks of rows."""
        blocks = _empty_blocks(_held_out_rows(self._split, self._tile_size), len(self._split.train))
        return (self._grid.fill(block) for block in blocks)


@dataclass(frozen=True)
class _RowBlock:
    """Held-out samples in one row of tiles, and their kernel against the training samples."""

    index: int
    """Number of the row of tiles."""
    samples: Integers
    """Samples relative to the start of the row of tiles."""
    values: Floats


def _rows_of_tiles(samples: Integers, tile_size: int) -> Iterator[tuple[int, Integers]]:
    """Split ascending samples by rows of tiles; yield each row, and its samples relative to the start of the row."""
    for index in np.unique(samples // tile_size).tolist():
        yield index, samples[samples // tile_size == index] - index * tile_size


def _held_out_rows(split: Split, tile_size: int) -> list[tuple[int, Integers]]:
    """Return the held-out samples by rows of tiles, in the order of `Split.held_out`."""
    return [*_rows_of_tiles(split.validation, tile_size), *_rows_of_tiles(split.test, tile_size)]


def _empty_blocks(rows: Sequence[tuple[int, Integers]], columns: int) -> Iterator[_RowBlock]:
    return (_RowBlock(index, samples, empty_rows(len(samples), columns)) for index, samples in rows)


@dataclass(frozen=True)
class _Grid:
    """The tiles of a kernel, and the training samples in each row of tiles."""

    source: TileSource
    train: Integers
    samples: int
    tile_size: int

    @cached_property
    def training(self) -> list[tuple[Integers, slice]]:
        """Return the training samples of each row of tiles, relative to its start, and their slice of `train`."""
        starts = np.arange(0, self.samples, self.tile_size)
        positions = np.append(np.searchsorted(self.train, starts), len(self.train)).tolist()
        return [
            (self.train[first:last] - start, slice(first, last))
            for start, first, last in zip(starts, positions[:-1], positions[1:], strict=True)
        ]

    def square(self, blocks: Sequence[_RowBlock] = ()) -> Floats:
        """Return the kernel of the training samples, and fill blocks of held-out samples from the same tiles."""
        square = np.empty((len(self.train), len(self.train)))
        held_out = {index: [block for block in blocks if block.index == index] for index in range(len(self.training))}
        count = len(self.training) * (len(self.training) + 1) // 2
        for number, tile in enumerate(tiles_on_and_above_diagonal(self.samples, self.tile_size), 1):
            report_progress(f"kernel, tile {number} of {count}")
            (rows, row_slice), (columns, column_slice) = (self.training[index] for index in tile)
            others = [block for index in dict.fromkeys(tile) for block in held_out[index]]
            if not (len(rows) and len(columns)) and not (others and (len(rows) or len(columns))):
                self.source.skip(tile)
                continue
            values = self.source.read(tile)
            square[row_slice, column_slice] = part = values[np.ix_(rows, columns)]
            square[column_slice, row_slice] = part.T
            for block in others:
                self._copy(block, tile, values)
        return square

    def panel(self, first: int, last: int) -> Floats:
        """Return the kernel of the training samples in some rows of tiles against these and all later ones."""
        start, stop = self.training[first][1].start, self.training[last - 1][1].stop
        panel = np.empty((stop - start, len(self.train) - start))
        for i in range(first, last):
            rows, row_slice = self.training[i]
            in_rows = slice(row_slice.start - start, row_slice.stop - start)
            for j in range(i, len(self.training)):
                columns, column_slice = self.training[j]
                if not (len(rows) and len(columns)):
                    self.source.skip((i, j))
                    continue
                in_columns = slice(column_slice.start - start, column_slice.stop - start)
                panel[in_rows, in_columns] = part = self.source.read((i, j))[np.ix_(rows, columns)]
                if i < j < last:
                    panel[in_columns, in_rows] = part.T
        return panel

    def fill(self, block: _RowBlock) -> Floats:
        """Fill one block of held-out samples, and return its kernel."""
        for index, (samples, _) in enumerate(self.training):
            if len(samples):
                tile = (min(index, block.index), max(index, block.index))
                self._copy(block, tile, self.source.read(tile))
        return block.values

    def _copy(self, block: _RowBlock, tile: Tile, values: Floats) -> None:
        """Copy the entries of a tile that belong to a block."""
        i, j = tile
        samples, positions = self.training[j if i == block.index else i]
        if i == block.index:
            block.values[:, positions] = values[np.ix_(block.samples, samples)]
        else:
            block.values[:, positions] = values[np.ix_(samples, block.samples)].T
