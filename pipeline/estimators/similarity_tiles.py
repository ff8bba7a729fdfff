"""Sum the products of many kernels of the same samples over tiles, in this process or on Dask workers."""

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, Protocol

import numpy as np

from kernel_pipeline.estimators.similarity_sources import Source
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Fill, GramFamily, Samples, check_families, prepare_families
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

# Size of the features of a tile, of all views together.
TILE_BYTES = 128 << 20
MIN_TILE, MAX_TILE = 256, 4096
# Number of tiles per thread that are submitted to the scheduler at a time.
TILES_PER_THREAD = 3

Tile = tuple[slice, slice]
"""Rows and columns: the same slice twice, or rows before columns."""


class TileKernel(Protocol):
    """A kernel that is computed tile by tile."""

    @property
    def width(self) -> int:
        """Number of values per sample that a tile holds in memory."""

    def prepare(self, tile: Tile) -> Fill:
        """Return a function that computes blocks of the kernel of the samples of a tile.

        The samples are those of the rows, followed by those of the columns if these are different samples.
        """


@dataclass(frozen=True)
class ViewKernel:
    """The kernel of a family on a view."""

    source: Source
    family: GramFamily
    """Family of one kernel, with all its parameters fixed."""
    means: Floats | None = None
    """Means that are subtracted from the columns, which does not change the centered kernel; None if there are none."""

    @property
    def width(self) -> int:
        """Number of columns of the view."""
        return self.source.shape[1]

    def prepare(self, tile: Tile) -> Fill:
        """Return a function that computes blocks."""
        spans = tile[:1] if tile[0] == tile[1] else tile
        features = np.concatenate([self.source.read(span) for span in spans])
        samples = Samples(features if self.means is None else features - self.means)
        check_families([self.family], samples, [f"x{place}" for place in range(self.width)])
        return prepare_families([self.family], samples)


@dataclass(frozen=True)
class MatrixKernel:
    """A precomputed kernel."""

    source: Source
    name: str

    @property
    def width(self) -> int:
        """Return 0: blocks are read when they are needed."""
        return 0

    def prepare(self, tile: Tile) -> Fill:
        """Return a function that reads blocks."""
        rows, columns = tile
        height = rows.stop - rows.start

        def place(span: slice) -> slice:
            start = rows.start if span.start < height else columns.start - height
            return slice(start + span.start, start + span.stop)

        def fill(block_rows: slice, block_columns: slice, out: Floats) -> None:
            out[0] = self.source.read(place(block_rows), place(block_columns))
            if block_rows == block_columns and not np.allclose(out[0], out[0].T, atol=0):
                raise ValueError(f"{self.name}: must be finite and symmetric")

        return fill


@dataclass(frozen=True)
class TileSums:
    """Sums over one tile, and over its mirror image."""

    products: Floats
    """Products of all pairs of kernels, (p, p)."""
    rows: Floats
    """Sums of the rows of the tile, followed by those of its columns if these are different samples, (p, samples)."""
    diagonal: Floats
    """Diagonal entries, (p, samples); 0 if rows and columns are different samples."""


def tile_sums(tile: Tile, kernels: Sequence[TileKernel]) -> TileSums:
    """Compute the sums of one tile, as one task if a cluster is used."""
    fills = [kernel.prepare(tile) for kernel in kernels]
    height, width = (span.stop - span.start for span in tile)
    is_diagonal = tile[0] == tile[1]
    n = height if is_diagonal else height + width

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        for place, one in enumerate(fills):
            one(rows, columns, out[place : place + 1])

    sums = Sums.zeros(1, len(kernels), 0, n)
    local = (slice(0, height), slice(0, height) if is_diagonal else slice(height, n))
    add_tile(sums, fill, np.empty((n, 0)), np.array([0, n]), local)
    return TileSums(sums.products[0, 0], sums.rows[0], sums.diagonal)


def total_sums(kernels: Sequence[TileKernel], n: int, tile_size: int | None, client: Any) -> Sums:
    """Add the sums of all tiles, in a fixed order.

    Parameters
    ----------
    tile_size
        Number of rows of a tile; None to derive it from the widths of the views.
    client
        A `distributed.Client`, or None to compute in this process.
    """
    tiles = _tiles(n, tile_size or _tile_size(kernels))
    sums = Sums.zeros(1, len(kernels), 0, n)
    found = (tile_sums(tile, kernels) for tile in tiles) if client is None else _on_workers(client, tiles, kernels)
    for (rows, columns), part in zip(tiles, found, strict=True):
        height = rows.stop - rows.start
        sums.products[0, 0] += part.products
        sums.rows[0][:, rows] += part.rows[:, :height]
        sums.diagonal[:, rows] += part.diagonal[:, :height]
        if columns != rows:
            sums.rows[0][:, columns] += part.rows[:, height:]
    return sums


def _tile_size(kernels: Sequence[TileKernel]) -> int:
    """Return the largest number of rows, within limits, for which the features of two spans fit in `TILE_BYTES`."""
    width = max(1, sum(kernel.width for kernel in kernels))
    return min(MAX_TILE, max(MIN_TILE, TILE_BYTES // (2 * 8 * width)))


def _tiles(n: int, side: int) -> list[Tile]:
    spans = [slice(start, min(start + side, n)) for start in range(0, n, side)]
    return [(rows, columns) for place, rows in enumerate(spans) for columns in spans[place:]]


def _on_workers(client: Any, tiles: Sequence[Tile], kernels: Sequence[TileKernel]) -> Iterator[TileSums]:
    """Yield the sums of tiles, in the order of the tiles.

    Arrays in memory are sent to each worker once; the workers read files themselves.
    """
    sent = client.scatter([list(kernels)], broadcast=True, hash=False)[0]
    window = TILES_PER_THREAD * max(1, sum(client.nthreads().values()))
    waiting = iter(tiles)
    pending = deque(client.submit(tile_sums, tile, sent, pure=False) for tile in islice(waiting, window))
    while pending:
        yield pending.popleft().result()
        pending += (client.submit(tile_sums, tile, sent, pure=False) for tile in islice(waiting, 1))
