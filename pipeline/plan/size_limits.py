"""The size of a plan, before it is laid out: the number of tasks follows from sizes that anyone may have written."""

import math
from collections.abc import Sequence

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.store.dataset_info import DatasetInfo

MAX_PARTS = 1_000_000
"""Tiles of each method and cells, of all datasets: a driver keeps some hundred bytes of each."""


def check_plan_size(config: Config, infos: Sequence[DatasetInfo]) -> None:
    """Refuse a sweep that has more tiles and cells than a driver can keep track of; they are counted, not listed."""
    methods, total = len(config.methods), 0
    for dataset, info in zip(config.dataset, infos, strict=True):
        rows, tile = info.rows, min(config.storage.tile, max(1, info.rows))
        tiles = 0 if dataset.column_family else tile_count(rows, tile)
        layers = 1 + methods * len(dataset.task)  # the base kernels, and the combined ones of each method
        total += tiles * layers + len(dataset.task) * methods * config.protocol.folds
        if total > MAX_PARTS:
            raise TooLargeError(
                f"dataset {dataset.name!r}: [storage] tile = {tile} cuts {rows:,} rows into {tiles:,} tiles; with "
                f"{methods} methods that makes more than {MAX_PARTS:,} parts. Set tile = "
                f"{smallest_tile(rows, MAX_PARTS // layers)} or more, or fewer rows or methods"
            )


def tile_count(rows: int, tile: int) -> int:
    """Return the number of tiles on and above the diagonal.

    >>> tile_count(5, 2)
    6
    """
    side = -(-rows // tile)
    return side * (side + 1) // 2


def smallest_tile(rows: int, tiles: int) -> int:
    """Return the smallest side of a tile that leaves at most so many tiles.

    >>> smallest_tile(20_000, 1_000_000), tile_count(20_000, 15), tile_count(20_000, 14)
    (15, 890445, 1021735)
    """
    return -(-rows // max(1, (math.isqrt(8 * tiles + 1) - 1) // 2))
