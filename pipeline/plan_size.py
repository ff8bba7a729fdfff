"""The size of a plan, before it is laid out: the number of tasks follows from sizes that anyone may have written."""

from collections.abc import Sequence

from pipeline.config import Config
from pipeline.errors import TooLargeError
from pipeline.outline import Outline

MAX_PARTS = 1_000_000
"""Tiles of each method and cells, of all datasets: a driver keeps some hundred bytes of each."""


def check_plan_size(config: Config, outlines: Sequence[Outline]) -> None:
    """Refuse a sweep that has more tiles and cells than a driver can keep track of."""
    methods, total = len(config.methods), 0
    for dataset, outline in zip(config.dataset, outlines, strict=True):
        side = 0 if dataset.rank_one else -(-outline.rows // min(config.storage.tile, max(1, outline.rows)))
        tiles = side * (side + 1) // 2
        total += tiles * (1 + methods * len(dataset.task)) + len(dataset.task) * methods * config.protocol.folds
        if total > MAX_PARTS:
            raise TooLargeError(
                f"dataset {dataset.name!r}: {tiles:,} tiles of {outline.rows:,} rows and {methods} methods make more "
                f"than {MAX_PARTS:,} parts. Ask for a larger [storage] tile ({config.storage.tile} now), fewer rows or "
                "fewer methods"
            )
