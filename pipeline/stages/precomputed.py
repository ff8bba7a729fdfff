"""Read precomputed kernels from the store."""

from collections import OrderedDict
from collections.abc import Iterator, Sequence

import numpy as np

from kernel_pipeline.store.arrays import DATA, RunStore
from kernel_pipeline.store.inputs import PRECOMPUTED, Input, precomputed_tiles, whole
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.kernels.precomputed import StoredFamily


def count_precomputed(families: Sequence[GramFamily]) -> int:
    """Return the number of precomputed kernels of some families."""
    return sum(family.count for family in families if isinstance(family, StoredFamily))


def precomputed_inputs(
    dataset: str, families: Sequence[GramFamily], tiles: Sequence[tuple[int, int]] | None = None
) -> tuple[Input, ...]:
    """Return what `StoredBlocks` reads for some or all tiles, as inputs; empty if no kernels are precomputed."""
    kernels = count_precomputed(families)
    if not kernels:
        return ()
    return (whole(DATA, f"{dataset}/{PRECOMPUTED}") if tiles is None else precomputed_tiles(dataset, kernels, tiles),)


class StoredBlocks:
    """Reader of blocks of the precomputed kernels of a dataset. A block must lie within one tile.

    Parameters
    ----------
    tile_size
        The side length of a tile.
    """

    def __init__(self, store: RunStore, dataset: str, tile_size: int) -> None:
        self._store, self._name, self._tile_size = store, f"{dataset}/{PRECOMPUTED}", tile_size
        self._current: tuple[int, int] | None = None
        self._values: Floats

    def __call__(self, kernels: slice, rows: slice, columns: slice) -> Floats:
        """Return a block of some kernels; the tile around it is kept, since the next block is likely to be in it."""
        top, left = rows.start - rows.start % self._tile_size, columns.start - columns.start % self._tile_size
        if (top, left) != self._current:
            span = (slice(None), slice(top, top + self._tile_size), slice(left, left + self._tile_size))
            self._values, self._current = self._store.read(DATA, self._name, span), (top, left)
        return self._values[kernels, rows.start - top : rows.stop - top, columns.start - left : columns.stop - left]


class CachedBlocks:
    """Reader of any blocks of the precomputed kernels of a dataset, which caches tiles.

    Parameters
    ----------
    samples, tile_size
        Number of samples, and the side length of a tile.
    max_bytes
        Maximum size of the cached tiles; the tile that was used last is always kept.
    """

    def __init__(self, store: RunStore, dataset: str, samples: int, tile_size: int, max_bytes: int) -> None:
        self._store, self._name = store, f"{dataset}/{PRECOMPUTED}"
        self._samples, self._tile_size, self._max_bytes = samples, tile_size, max_bytes
        self._tiles: OrderedDict[tuple[int, int], Floats] = OrderedDict()
        self._seen: set[tuple[int, int]] = set()

    def __call__(self, kernels: slice, rows: slice, columns: slice) -> Floats:
        """Return a block of some kernels."""
        found = np.empty((kernels.stop - kernels.start, rows.stop - rows.start, columns.stop - columns.start))
        for i, tile_rows, block_rows in self._pieces(rows):
            for j, tile_columns, block_columns in self._pieces(columns):
                values = self._tile(min(i, j), max(i, j))[kernels]
                values = values if i <= j else values.swapaxes(1, 2)
                found[:, block_rows, block_columns] = values[:, tile_rows, tile_columns]
        return found

    def read_others(self) -> None:
        """Read the tiles that were not needed, since the inputs of a task are verified as a whole."""
        count = -(-self._samples // self._tile_size)
        for tile in ((i, j) for i in range(count) for j in range(i, count)):
            if tile not in self._seen:
                self._tile(*tile)

    def _pieces(self, part: slice) -> Iterator[tuple[int, slice, slice]]:
        """Yield the index of each row (or column) of tiles that overlaps a slice, and the overlap relative to both."""
        for index in range(part.start // self._tile_size, -(-part.stop // self._tile_size)):
            start = index * self._tile_size
            first, last = max(part.start, start), min(part.stop, start + self._tile_size)
            yield index, slice(first - start, last - start), slice(first - part.start, last - part.start)

    def _tile(self, i: int, j: int) -> Floats:
        if (i, j) not in self._tiles:
            span = (slice(index * self._tile_size, (index + 1) * self._tile_size) for index in (i, j))
            values = self._store.read(DATA, self._name, (slice(None), *span))
            self._seen.add((i, j))
            while self._tiles and (len(self._tiles) + 1) * values.nbytes > self._max_bytes:
                self._tiles.popitem(last=False)
            self._tiles[i, j] = values
        self._tiles.move_to_end((i, j))
        return self._tiles[i, j]
