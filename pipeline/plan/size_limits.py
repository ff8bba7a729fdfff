"""Limit the size of a plan before it is made: a config or a run directory can request any number of tasks."""

import math
from collections.abc import Sequence

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.store.dataset_info import DatasetInfo

MAX_PARTS = 1_000_000
"""Maximum number of tiles (counted for each method) and cells of a sweep; a driver needs about 100 bytes for each."""


def check_plan_size(config: Config, infos: Sequence[DatasetInfo]) -> None:
    """Raise a `TooLargeError` for a sweep with more tiles and cells than a driver can handle."""
    methods, total = len(config.used_methods), 0
    for dataset, info in zip(config.dataset, infos, strict=True):
        rows, tile_size = info.rows, min(config.storage.tile, max(1, info.rows))
        tiles = 0 if dataset.column_family else tile_count(rows, tile_size)
        layers = 1 + methods * len(dataset.task)  # the base kernels, and the combined ones of each method
        passes = len(info.fitted_trials(config.protocol.trials))
        layers *= passes if passes > 1 else config.protocol.repeats
        total += tiles * layers + len(dataset.task) * methods * config.protocol.trials
        if total > MAX_PARTS:
            raise TooLargeError(
                f"dataset {dataset.name!r}: [storage] tile = {tile_size} divides {rows:,} rows into {tiles:,} tiles; "
                f"with {methods} methods, the sweep has more than {MAX_PARTS:,} tiles and cells. Set tile = "
                f"{smallest_tile_size(rows, MAX_PARTS // layers)} or more, or use fewer rows or methods"
            )


def tile_count(rows: int, tile_size: int) -> int:
    """Return the number of tiles on and above the diagonal.

    >>> tile_count(5, 2)
    6
    """
    side = -(-rows // tile_size)
    return side * (side + 1) // 2


def smallest_tile_size(rows: int, tiles: int) -> int:
    """Return the smallest side length of a tile for which there are at most `tiles` tiles.

    >>> smallest_tile_size(20_000, 1_000_000), tile_count(20_000, 15), tile_count(20_000, 14)
    (15, 890445, 1021735)
    """
    return -(-rows // max(1, (math.isqrt(8 * tiles + 1) - 1) // 2))
