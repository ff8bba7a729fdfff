"""Tiles stage: compute and store the base Gram matrices by tile, and the sums for the statistics in the same pass.

The stored values are `E = K - shift`, with the shifts as an attribute of the array.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar

import numpy as np

from kernel_pipeline.stages.fitted import FittedTask
from kernel_pipeline.stages.labels import label_input, read_centered_labels
from kernel_pipeline.stages.precomputed import StoredBlocks, count_precomputed, precomputed_inputs
from kernel_pipeline.stages.samples import folds_input, read_folds
from kernel_pipeline.stages.task import IDENTITY_NAME, Output
from kernel_pipeline.stages.tile_sources import (
    ComputedTiles,
    StoredTiles,
    Tile,
    TileSource,
    tile_slices,
)
from kernel_pipeline.store.arrays import DATA, GRAM, STATISTICS, RunStore
from kernel_pipeline.store.inputs import SUMS, Input, tiles_of, trials_of, whole
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.kernels.family import Blocks, Fill, GramFamily, Samples, kernel_names, prepare_families
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.statistics.repeated_sums import PermutedSums, add_repeated_tile
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

# Target size of a task in entries of base kernels: about one second, including the write.
ENTRIES_PER_TASK = 50_000_000
# Minimum size of a batch, in entries of each kernel per sample of the dataset: each batch stores sums for all samples,
# and writing them must take a small part of the time of a task that computes entries without storing them.
MIN_ENTRIES_PER_SAMPLE = 500
# Limit on the number of batches of a dataset: each stores sums of its own, which need disk space, and this many
# tasks are enough for many workers. The limit is divided by the number of repeats, since the sums of each repeat
# are stored, but it is never lower than `LOWEST_MAX_BATCHES`.
MAX_BATCHES, LOWEST_MAX_BATCHES = 100, 10
# Maximum number of tiles of a task. A task contains the list of its tiles, and must stay small enough to be sent to a
# worker. This limit takes precedence over the one on the number of batches.
MAX_TILES_PER_TASK = 500


def batches(
    tiles: list[tuple[int, int]], tile_size: int, samples: int, kernels: int, repeats: int = 1
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Divide the tiles into batches of about one second, which do not depend on the number of workers.

    If there are many samples or very many tiles, batches are larger, since each batch stores sums for all samples and
    repeats.
    """
    side = min(tile_size, samples)
    max_batches = max(LOWEST_MAX_BATCHES, MAX_BATCHES // repeats)
    size = max(ENTRIES_PER_TASK // kernels, MIN_ENTRIES_PER_SAMPLE * samples) // side**2
    size = max(1, size, -(-len(tiles) // max_batches))
    size = min(size, MAX_TILES_PER_TASK)
    for start in range(0, len(tiles), size):
        yield tuple(tiles[start : start + size])


@dataclass(frozen=True, kw_only=True)
class GramTask(FittedTask):
    """A task of a dataset whose base kernels are Gram matrices."""

    tile_size: int = field(metadata={IDENTITY_NAME: "tile"})
    """The side length of a tile. It determines the order of summation, and so the last digits of results."""
    families: tuple[GramFamily, ...]
    """The kernel families. The last digits of kernels may depend on which families are computed together."""
    recompute: bool = False
    """Whether base Gram matrices are not stored, so that each task computes the tiles that it needs."""

    def data_inputs(self, tiles: Sequence[Tile] | None = None) -> tuple[Input, ...]:
        """Return what is read to compute some tiles, or all of them, as inputs."""
        return (
            whole(DATA, f"{self.data_group}/features"),
            *dict.fromkeys((folds_input(self.dataset), folds_input(self.dataset, self.repeats))),
            *precomputed_inputs(self.dataset, self.families, tiles),
        )

    def base_inputs(self) -> tuple[Input, ...]:
        """Return what `base_tiles` reads, as inputs."""
        return self.data_inputs() if self.recompute else (whole(GRAM, f"{self.data_group}/gram"),)

    def base_tiles(self, store: RunStore) -> TileSource:
        """Return the tiles of all base kernels."""
        if not self.recompute:
            return StoredTiles(store, GRAM, f"{self.data_group}/gram")
        fill, blocks = self.prepare(store)
        bounds = fold_bounds(store.read(GRAM, f"{self.dataset}/fold"))
        return ComputedTiles(fill, len(kernel_names(self.families)), bounds, self.tile_size, blocks)

    def prepare(self, store: RunStore) -> tuple[Fill, StoredBlocks | None]:
        """Return a function that computes blocks of all base kernels, and the reader of the precomputed ones."""
        blocks = StoredBlocks(store, self.dataset, self.tile_size) if count_precomputed(self.families) else None
        return prepare_families(self.families, self.samples(store, blocks)), blocks

    def samples(self, store: RunStore, blocks: Blocks | None) -> Samples:
        """Return the samples of the dataset, given a reader of its precomputed kernels, if it has any."""
        fitted_on = None
        if self.fit_on:
            folds = read_folds(store, self.dataset, self.repeats)
            fitted_on = self.fit_on.samples(folds[self.fit_on.repeat])
        return Samples(store.read(DATA, f"{self.data_group}/features"), fitted_on, blocks)


@dataclass(frozen=True, kw_only=True)
class TileBatchTask(GramTask):
    """A task for a batch of tiles of one dataset."""

    number: int
    tiles: tuple[Tile, ...]

    @property
    def part(self) -> str:
        return f"{self.number}{self.trial_part}"


@dataclass(frozen=True, kw_only=True)
class TilesTask(TileBatchTask):
    """Compute a batch of tiles of the base Gram matrices and their sums; store the tiles unless `recompute` is set."""

    stage: ClassVar[str] = "tiles"
    version: ClassVar[int] = 4

    label_blocks: tuple[tuple[int, ...], ...] = ()
    """Label columns of each problem, whose products with the kernels are also computed for permuted labels."""

    def inputs(self) -> tuple[Input, ...]:
        return (*self.data_inputs(self.tiles), label_input(self.dataset))

    def writes(self) -> tuple[Input, ...]:
        sums = (
            trials_of(STATISTICS, f"{group}/{SUMS}/{name}", [self.number])
            for group in self.sums_groups().values()
            for name in sums_names(self.permutations)
        )
        return (*sums,) if self.recompute else (tiles_of(f"{self.data_group}/gram", self.tiles), *sums)

    def run(self, store: RunStore) -> Output:
        fill, _ = self.prepare(store)
        labels, _ = read_centered_labels(store, self.dataset)
        bounds = fold_bounds(store.read(GRAM, f"{self.dataset}/fold"))
        samples, kernels = len(labels), len(kernel_names(self.families))
        groups, size = self.sums_groups(), kernels * min(self.tile_size, samples) ** 2
        sums = {repeat: Sums.zeros(len(bounds) - 1, kernels, labels.shape[1], samples) for repeat in groups}
        buffer = np.empty(0 if self.recompute else size)
        folds = read_folds(store, self.dataset, self.repeats)[list(groups)]
        permuted = self._permuted(folds, list(groups), kernels, len(bounds) - 1)
        add: Callable[..., None] = partial(
            add_repeated_tile, list(sums.values()), folds, np.empty(size), permuted=list(permuted.values())
        )
        if self.repeats == 1 and not permuted:
            add = partial(add_tile, sums[0])  # the folds are contiguous
        output = Output()
        for tile in self.tiles:
            span = tile_slices(tile, self.tile_size, samples)
            if self.recompute:
                add(fill, labels, bounds, span)
                continue
            shape = (kernels, span[0].stop - span[0].start, span[1].stop - span[1].start)
            values = buffer[: np.prod(shape)].reshape(shape)
            add(fill, labels, bounds, span, values)
            output.digests |= store.write_chunk(GRAM, f"{self.data_group}/gram", (0, *tile), values)
        for repeat, group in groups.items():
            arrays = sums[repeat].arrays() | ({"permuted": permuted[repeat].products} if permuted else {})
            for name, values in arrays.items():
                output.digests |= store.write_part(STATISTICS, f"{group}/{SUMS}/{name}", self.number, values)
        return output

    def _permuted(self, folds: Integers, repeats: Sequence[int], kernels: int, n_folds: int) -> dict[int, PermutedSums]:
        """Return zero-initialised sums of products with permuted labels, by repeat; empty without permutations."""
        if self.permutations is None:
            return {}
        shape = (len(self.label_blocks), self.permutations.count, n_folds, n_folds, kernels)
        return {
            repeat: PermutedSums(self.permutations.orders(fold, repeat), self.label_blocks, np.zeros(shape))
            for repeat, fold in zip(repeats, folds, strict=True)
        }


def sums_names(permutations: Permutations | None) -> list[str]:
    """Return the names of the sums that are stored for each batch of tiles."""
    return [*Sums.NAMES] + (["permuted"] if permutations else [])
