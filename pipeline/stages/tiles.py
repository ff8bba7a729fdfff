"""Tiles: compute and store the base Gram matrices tile by tile, and the sums for the statistics in the same pass.

The stored values are `E = K - shift`, with the shifts as an attribute of the array.
"""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.labels import label_input, read_centered_labels
from kernel_pipeline.stages.task import Output, Task
from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import Input, tiles_of, trials_of, whole
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.kernels.family import GramFamily, kernel_names, prepare_families
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

# Target size of a task in entries of base kernels: about one second, including the write.
ENTRIES_PER_TASK = 50_000_000
# A task lists its tiles, and must stay small enough to send.
TILES_PER_TASK = 500


def tiles_on_and_above_diagonal(samples: int, tile: int) -> list[tuple[int, int]]:
    """Return the tiles (i, j), i <= j, that cover the upper triangle of a Gram matrix.

    >>> tiles_on_and_above_diagonal(5, 2)
    [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]
    """
    side = -(-samples // tile)
    return [(i, j) for i in range(side) for j in range(i, side)]


def batches(
    tiles: list[tuple[int, int]], tile: int, samples: int, kernels: int
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Divide the tiles into batches of about one second, which do not depend on the number of workers."""
    side = min(tile, samples)
    size = min(max(1, ENTRIES_PER_TASK // (kernels * side * side)), TILES_PER_TASK)
    for start in range(0, len(tiles), size):
        yield tuple(tiles[start : start + size])


def tile_slices(tile: tuple[int, int], side: int, samples: int) -> tuple[slice, slice]:
    """Return the rows and columns of a tile."""
    i, j = tile
    return slice(i * side, min((i + 1) * side, samples)), slice(j * side, min((j + 1) * side, samples))


@dataclass(frozen=True, kw_only=True)
class GramTask(Task):
    """A task of a dataset whose base kernels are Gram matrices."""

    tile: int
    """The side length of a tile. It determines the order of summation, and with it the last digits."""
    families: tuple[GramFamily, ...]
    """The kernel families. Families that are computed together may share last digits."""


@dataclass(frozen=True, kw_only=True)
class TileBatchTask(GramTask):
    """A task for a batch of tiles of one dataset."""

    number: int
    tiles: tuple[tuple[int, int], ...]

    @property
    def part(self) -> str:
        return str(self.number)


@dataclass(frozen=True, kw_only=True)
class TilesTask(TileBatchTask):
    """Compute a batch of tiles of the base Gram matrices."""

    stage: ClassVar[str] = "tiles"
    version: ClassVar[int] = 3

    def inputs(self) -> tuple[Input, ...]:
        return (
            whole(DATA, f"{self.dataset}/features"),
            label_input(self.dataset),
            whole(GRAM, f"{self.dataset}/fold"),
        )

    def writes(self) -> tuple[Input, ...]:
        sums = (trials_of(STATISTICS, f"{self.dataset}/sums/{field.name}", [self.number]) for field in fields(Sums))
        return (tiles_of(f"{self.dataset}/gram", self.tiles), *sums)

    def run(self, store: RunStore) -> Output:
        fill = prepare_families(self.families, store.read(DATA, f"{self.dataset}/features"))
        targets, _ = read_centered_labels(store, self.dataset)
        bounds = fold_bounds(store.read(GRAM, f"{self.dataset}/fold"))
        samples, kernels = len(targets), len(kernel_names(self.families))
        sums = Sums.zeros(len(bounds) - 1, kernels, targets.shape[1], samples)
        memory = np.empty(kernels * min(self.tile, samples) ** 2)
        output = Output()
        for tile in self.tiles:
            span = tile_slices(tile, self.tile, samples)
            shape = (kernels, span[0].stop - span[0].start, span[1].stop - span[1].start)
            values = memory[: np.prod(shape)].reshape(shape)
            add_tile(sums, fill, targets, bounds, span, values)
            output.digests |= store.write_chunk(GRAM, f"{self.dataset}/gram", (0, *tile), values)
        for name, values in sums.arrays().items():
            chunk = (self.number, *[0] * values.ndim)
            output.digests |= store.write_chunk(STATISTICS, f"{self.dataset}/sums/{name}", chunk, values[None])
        return output
