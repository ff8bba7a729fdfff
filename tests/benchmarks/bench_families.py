"""Measure the time per entry of the Gram matrices of each family, with the sums for the statistics, on one thread.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_families [--rows 3000] [--features 8] [--repeats 7]

All families are measured in turn, so that other work on the machine slows all of them down. `laplacian` and `matern`
must take at most three times as long as the Gaussian kernels, with widths that double and with others; the benchmark
fails if they do not.
"""

import argparse
import os
import sys
import time
from itertools import pairwise

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.chi_squared import ChiSquaredFamily
from kernel_pipeline.tasks.kernels.cosine import CosineFamily
from kernel_pipeline.tasks.kernels.family import Fill, GramFamily, Samples, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.matern import MaternFamily
from kernel_pipeline.tasks.kernels.polynomial import PolynomialFamily
from kernel_pipeline.tasks.kernels.rational_quadratic import RationalQuadraticFamily
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

KERNELS, FOLDS, TILE = 16, 10, 512
# Widths that double, and widths that do not.
DOUBLING = tuple(2.0**k for k in range(-8, 8))
OTHER = tuple(1.7**k for k in range(-8, 8))
FAMILIES: dict[str, GramFamily] = {
    "gaussian, log2_gamma": GaussianFamily(log2_gamma=(-8, 7)),
    "gaussian, other gammas": GaussianFamily(gamma=OTHER),
    "laplacian, doubling": LaplacianFamily(DOUBLING),
    "laplacian, other gammas": LaplacianFamily(OTHER),
    **{f"matern {nu}, halving": MaternFamily((nu,), DOUBLING) for nu in (0.5, 1.5, 2.5)},
    **{f"matern {nu}, other scales": MaternFamily((nu,), OTHER) for nu in (0.5, 1.5, 2.5)},
    "rational-quadratic": RationalQuadraticFamily(OTHER[::4], OTHER[::4]),
    "polynomial": PolynomialFamily((1, 2, 3, 4), (0.1, 0.2), (0.0, 1.0)),
    "chi-squared, doubling": ChiSquaredFamily(DOUBLING),
    "linear": LinearFamily(),
    "cosine": CosineFamily(),
}
BASE, LIMIT = "gaussian, log2_gamma", 3.0


def seconds(fill: Fill, kernels: int, targets: Floats, bounds: Integers) -> float:
    """Return the time to compute all tiles on and above the diagonal, and their sums."""
    rows = len(targets)
    sums = Sums.zeros(FOLDS, kernels, 1, rows)
    memory = np.empty(kernels * TILE**2)
    spans = [slice(*ends) for ends in pairwise([*range(0, rows, TILE), rows])]
    start = time.process_time()
    for number, tile_rows in enumerate(spans):
        for tile_columns in spans[number:]:
            shape = (kernels, tile_rows.stop - tile_rows.start, tile_columns.stop - tile_columns.start)
            add_tile(sums, fill, targets, bounds, (tile_rows, tile_columns), memory[: np.prod(shape)].reshape(shape))
    return time.process_time() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--features", type=int, default=8)
    parser.add_argument("--repeats", type=int, default=7)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    samples = Samples(rng.random((arguments.rows, arguments.features)))
    targets, bounds = rng.normal(size=(arguments.rows, 1)), np.linspace(0, arguments.rows, FOLDS + 1).astype(np.int64)
    fills = {name: (prepare_families([family], samples), len(family.names())) for name, family in FAMILIES.items()}
    entries = arguments.rows * (arguments.rows + 1) / 2
    times: dict[str, list[float]] = {name: [] for name in fills}
    for _ in range(arguments.repeats):
        for name, (fill, kernels) in fills.items():
            times[name].append(seconds(fill, kernels, targets, bounds) / entries * 1e9)
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "all")
    print(f"{arguments.rows:,} rows, {arguments.features} features, {threads} thread(s), load {os.getloadavg()[0]:.1f}")
    print(f"{'family':28} kernels          ns per entry (best, median)   times {BASE}")
    ratios = {}
    for name, values in times.items():
        ratios[name] = float(np.median(np.divide(values, times[BASE])))
        best, median = min(values), float(np.median(values))
        print(f"{name:28} {fills[name][1]:7} {best:22.1f} {median:13.1f} {ratios[name]:15.2f}")
    slow = [name for name in ratios if name.startswith(("laplacian", "matern")) and ratios[name] > LIMIT]
    if slow:
        sys.exit(f"slower than {LIMIT:g} times the Gaussian kernels: {', '.join(slow)}")


if __name__ == "__main__":
    main()
