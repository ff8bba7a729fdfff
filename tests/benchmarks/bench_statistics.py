"""Compare the statistics of all trials with a plain script that centers the kernels of each training set.

    python -m tests.benchmarks.bench_statistics [--rows 3000] [--kernels 16] [--cores 2] [--repeats 3]

Both compute M, a and the traces of the training set and of the test fold of five trials, in turn. The package computes
them from one pass over the tiles, as a run does: in one process per core, each on one thread, which are started before
the measurement. The script computes, centers and multiplies the Gram matrices of each set with numpy and scikit-learn,
which use all cores in matrix products. The largest relative difference of their results is printed.
"""

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from functools import partial
from itertools import combinations_with_replacement

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer
from threadpoolctl import threadpool_limits

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import fold_bounds, trials
from kernel_pipeline.tasks.kernels.family import Samples, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.statistics.statistics import statistics as trial_statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile

FOLDS, FEATURES, TILE, LOWEST = 5, 8, 512, -8

Result = list[tuple[Floats, Floats, Floats]]
"""M, a and the traces of each training set and test fold, of kernels that are not scaled."""


def by_package(
    features: Floats, labels: Floats, fold: Integers, family: GaussianFamily, processes: Executor, cores: int
) -> Result:
    """Compute the statistics of all trials from the sums of one pass."""
    tiles = list(combinations_with_replacement(range(0, len(features), TILE), 2))
    parts = [tiles[part::cores] for part in range(cores)]
    first, *others = processes.map(partial(sums_of_tiles, features, labels, fold, family), parts)
    for sums in others:
        first += sums
    bounds = fold_bounds(fold)
    found = [trial_statistics(first, labels, (0,), folds, bounds) for folds in sets()]
    return [(one.M, one.a, one.trace) for one in found]


def sums_of_tiles(
    features: Floats, labels: Floats, fold: Integers, family: GaussianFamily, tiles: Sequence[tuple[int, int]]
) -> Sums:
    """Return the sums over some tiles, which are given by their first row and column."""
    rows = len(features)
    fill, bounds = prepare_families([family], Samples(features)), fold_bounds(fold)
    sums = Sums.zeros(FOLDS, len(family.names()), 1, rows)
    for row, column in tiles:
        tile = slice(row, min(row + TILE, rows)), slice(column, min(column + TILE, rows))
        add_tile(sums, fill, labels, bounds, tile)
    return sums


def by_script(features: Floats, labels: Floats, fold: Integers, gammas: tuple[float, ...]) -> Result:
    """Compute, center and multiply the Gram matrices of each training set and test fold."""
    found = []
    for folds in sets():
        chosen = np.isin(fold, folds)
        x, y = features[chosen], labels[chosen, 0] - labels[chosen, 0].mean()
        centered = [KernelCenterer().fit_transform(rbf_kernel(x, gamma=gamma)) for gamma in gammas]
        M = np.array([[np.sum(one * other) for other in centered] for one in centered])
        a = np.array([y @ one @ y for one in centered])
        found.append((M, a, np.array([np.trace(one) for one in centered])))
    return found


def sets() -> list[list[int]]:
    """Return the folds of each training set, and each test fold."""
    return [folds for trial in trials(FOLDS) for folds in (list(trial.train), [trial.test])]


def difference(ours: Result, theirs: Result) -> float:
    """Return the largest difference, relative to the largest value of each array."""
    pairs = [(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True)]
    return max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--kernels", type=int, default=16)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    family = GaussianFamily.powers_of_two(LOWEST, LOWEST + arguments.kernels - 1)
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(arguments.rows, FEATURES)), rng.normal(size=(arguments.rows, 1))
    labels -= labels.mean()
    fold = np.arange(arguments.rows) * FOLDS // arguments.rows
    seconds: dict[str, list[float]] = {"package": [], "script": []}
    context = multiprocessing.get_context("spawn")  # so that the processes read the number of threads
    with ProcessPoolExecutor(arguments.cores, context, threadpool_limits, (1,)) as processes:
        list(processes.map(abs, range(100)))  # starts all of them
        with threadpool_limits(arguments.cores):
            for _ in range(arguments.repeats + 1):
                begin = time.perf_counter()
                ours = by_package(features, labels, fold, family, processes, arguments.cores)
                seconds["package"].append(time.perf_counter() - begin)
                begin = time.perf_counter()
                theirs = by_script(features, labels, fold, family.gammas())
                seconds["script"].append(time.perf_counter() - begin)
    package, script = (statistics.median(values[1:]) for values in seconds.values())  # the first repeat warms up
    print(
        f"{arguments.rows:,} rows, {arguments.kernels} kernels, {FOLDS} trials, {arguments.cores} cores: package "
        f"{package:.3f} s, script {script:.1f} s, ratio {script / package:.1f}; largest relative difference "
        f"{difference(ours, theirs):.1e}"
    )


if __name__ == "__main__":
    main()
