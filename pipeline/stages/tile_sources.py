"""Provide the tiles of Gram matrices to the tasks that need them: read from the store, or computed from the data."""

from typing import Protocol

import numpy as np

from kernel_pipeline.stages.precomputed import StoredBlocks
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Fill
from kernel_pipeline.tasks.statistics.sums import compute_tile

Tile = tuple[int, int]


def tiles_on_and_above_diagonal(samples: int, tile_size: int) -> list[Tile]:
    """Return the tiles (i, j), i <= j, that cover the upper triangle of a Gram matrix.

    >>> tiles_on_and_above_diagonal(5, 2)
    [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    """
    count = -(-samples // tile_size)
    return [(i, j) for i in range(count) for j in range(i, count)]


def tile_slices(tile: Tile, tile_size: int, samples: int) -> tuple[slice, slice]:
    """Return the rows and columns of a tile, given the side length of all tiles, `tile_size`."""
    i, j = tile
    rows = slice(i * tile_size, min((i + 1) * tile_size, samples))
    return rows, slice(j * tile_size, min((j + 1) * tile_size, samples))


class TileSource(Protocol):
    """Symmetric matrices over the same samples, of which tiles on and above the diagonal can be read."""

    def read(self, tile: Tile) -> Floats:
        """Return a tile of one matrix, (rows, columns), or of several matrices, (count, rows, columns).

        The array is valid until the next call, and must not be changed.
        """

    def skip(self, tile: Tile) -> None:
        """Skip a tile. Its stored inputs are read nevertheless, since the inputs of a task are verified as a whole."""


class StoredTiles:
    """Tiles that are read from an array of shape (count, m, m).

    Parameters
    ----------
    index
        The matrices to read: one, or several.
    """

    def __init__(self, store: RunStore, group: str, name: str, index: int | slice = slice(None)) -> None:
        self._store, self._group, self._name, self._index = store, group, name, index
        array = store.array(group, name)
        self._samples, self._tile_size = int(array.shape[-1]), int(array.chunks[-1])

    def read(self, tile: Tile) -> Floats:
        """Read a tile."""
        span = tile_slices(tile, self._tile_size, self._samples)
        values: Floats = self._store.read(self._group, self._name, (self._index, *span))
        return values

    def skip(self, tile: Tile) -> None:
        """Read a tile, so that all of the array is verified."""
        self.read(tile)


class ComputedTiles:
    """Tiles of base kernels that are computed from the data, with the same bytes as stored tiles.

    Parameters
    ----------
    fill
        Function that computes blocks of all kernels.
    kernels
        Number of kernels.
    bounds
        Start of each fold, followed by the number of samples.
    tile_size
        The side length of a tile.
    blocks
        Reader of the precomputed base kernels; None if there are none.
    """

    def __init__(self, fill: Fill, kernels: int, bounds: Integers, tile_size: int, blocks: StoredBlocks | None) -> None:
        self._fill, self._kernels, self._bounds = fill, kernels, bounds
        self._tile_size, self._blocks = tile_size, blocks
        self._buffer = np.empty(kernels * min(tile_size, int(bounds[-1])) ** 2)

    def read(self, tile: Tile) -> Floats:
        """Compute a tile; the array is reused for the next one."""
        span = tile_slices(tile, self._tile_size, int(self._bounds[-1]))
        shape = (self._kernels, *(part.stop - part.start for part in span))
        values = self._buffer[: np.prod(shape)].reshape(shape)
        compute_tile(self._fill, self._bounds, span, values)
        return values

    def skip(self, tile: Tile) -> None:
        """Read the precomputed kernels of a tile, if there are any."""
        if self._blocks is not None:
            self._blocks(slice(None), *tile_slices(tile, self._tile_size, int(self._bounds[-1])))


class CombinedTiles:
    """Tiles of one combined kernel, computed from tiles of the base kernels.

    Parameters
    ----------
    weights
        Weights of the base kernels in several combined kernels, (count, p). All of them are computed, since the
        rounding of a matrix product may depend on the number of its rows.
    row
        The combined kernel to return.
    """

    def __init__(self, base: TileSource, weights: Floats, row: int) -> None:
        self._base, self._weights, self._row = base, weights, row

    def read(self, tile: Tile) -> Floats:
        """Compute a tile."""
        return np.asarray(combine_tile(self._weights, self._base.read(tile))[self._row])

    def skip(self, tile: Tile) -> None:
        """Skip a tile of the base kernels."""
        self._base.skip(tile)


class KeptTiles:
    """Tiles of some consecutive matrices, which stay in memory once they are read.

    Parameters
    ----------
    source
        Tiles of all matrices.
    chosen
        The matrices that are kept.
    """

    def __init__(self, source: TileSource, chosen: range) -> None:
        self._source, self._chosen = source, slice(chosen.start, chosen.stop)
        self._kept: dict[Tile, Floats] = {}
        self._skipped: set[Tile] = set()

    def read(self, tile: Tile) -> Floats:
        """Return a tile, which is read at most once."""
        if tile not in self._kept:
            self._kept[tile] = self._source.read(tile)[self._chosen].copy()
        return self._kept[tile]

    def skip(self, tile: Tile) -> None:
        """Skip a tile of the source, at most once."""
        if tile not in self._skipped:
            self._skipped.add(tile)
            self._source.skip(tile)


class ChosenTiles:
    """Tiles of one of several matrices.

    Parameters
    ----------
    source
        Tiles of all matrices.
    index
        The chosen matrix.
    """

    def __init__(self, source: TileSource, index: int) -> None:
        self._source, self._index = source, index

    def read(self, tile: Tile) -> Floats:
        """Read a tile."""
        return np.asarray(self._source.read(tile)[self._index])

    def skip(self, tile: Tile) -> None:
        """Skip a tile of the source."""
        self._source.skip(tile)


def combine_tile(weights: Floats, values: Floats) -> Floats:
    """Return combined kernels of a tile, (count, rows, columns), given weights, (count, p), and all base kernels."""
    return np.asarray((weights @ values.reshape(len(values), -1)).reshape(-1, *values.shape[1:]))
