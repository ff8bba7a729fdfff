"""Measure the speed of this machine in about half a second, for estimates of time. No result depends on it."""

import time
from collections.abc import Callable

import numpy as np

from kernel_pipeline.plan.work import Rates
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import GramFamily, Samples, prepare_families
from kernel_pipeline.tasks.statistics.sums import compute_tile

# Sizes for which one repetition takes a few milliseconds on one core.
PRODUCT_SIDE = 600
COPIED_BYTES = 32 << 20
TILE_SIDE, TILE_COLUMNS = 256, 8
SECONDS_PER_RATE = 0.15


def measure_rates() -> Rates:
    """Measure the rates of one core: a matrix product, a copy in memory, and a tile of Gaussian kernels."""
    from threadpoolctl import threadpool_limits

    random = np.random.default_rng(0)
    square = random.standard_normal((PRODUCT_SIDE, PRODUCT_SIDE))
    product = np.empty_like(square)
    source = np.ones(COPIED_BYTES // 8)
    target = np.empty_like(source)
    tile, entries = _tile_function(random)
    with threadpool_limits(1):  # workers use one thread per task
        return Rates(
            flops=2.0 * PRODUCT_SIDE**3 / _fastest(lambda: np.matmul(square, square, out=product)),
            entries=entries / _fastest(tile),
            memory_bytes=COPIED_BYTES / _fastest(lambda: np.copyto(target, source)),
        )


def _tile_function(random: np.random.Generator) -> tuple[Callable[[], object], int]:
    """Return a function that computes a tile off the diagonal as tasks do, and the number of its entries."""
    from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily

    family: GramFamily = GaussianFamily.powers_of_two(-4, 3)
    features: Floats = random.standard_normal((2 * TILE_SIDE, TILE_COLUMNS))
    fill, kernels = prepare_families([family], Samples(features)), len(family.names())
    values, bounds = np.empty((kernels, TILE_SIDE, TILE_SIDE)), np.array([0, 2 * TILE_SIDE])
    span = slice(0, TILE_SIDE), slice(TILE_SIDE, 2 * TILE_SIDE)
    return lambda: compute_tile(fill, bounds, span, values), values.size


def _fastest(function: Callable[[], object]) -> float:
    """Return the seconds of a core that the fastest of several calls needs, without the first one, which loads code.

    The time during which other programs use the core is not counted: a rate that is measured while they do would be
    many times too low, even for the fastest call.
    """
    function()
    times, end = list[float](), time.perf_counter() + SECONDS_PER_RATE
    while not times or time.perf_counter() < end:
        begin = time.thread_time()
        function()
        times.append(time.thread_time() - begin)
    return min(times)
