"""Compare the statistics of all trials with a plain script that centers the kernels of each training set.

    python -m tests.benchmarks.bench_statistics [--rows 3000] [--kernels 16] [--repeats 3]

Both compute M, a and the traces of the training set and of the test fold of five trials on one thread, in turn and in
the same process. The package computes them from one pass over the tiles; the script computes, centers and multiplies
the Gram matrices of each set. The largest relative difference of their results is printed.
"""

import argparse
import os
import statistics
import subprocess
import sys
import time

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.preprocessing import KernelCenterer

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import fold_bounds, trials
from kernel_pipeline.tasks.kernels.family import Samples, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.statistics.statistics import statistics as trial_statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from tests.benchmarks.environment import ONE_THREAD

FOLDS, FEATURES, TILE, LOWEST = 5, 8, 512, -8

Result = list[tuple[Floats, Floats, Floats]]
"""M, a and the traces of each training set and test fold, of kernels that are not scaled."""


def by_package(features: Floats, labels: Floats, fold: Integers, family: GaussianFamily) -> Result:
    """Compute the statistics of all trials from the sums of one pass."""
    rows, kernels = len(features), len(family.names())
    fill, bounds = prepare_families([family], Samples(features)), fold_bounds(fold)
    sums = Sums.zeros(FOLDS, kernels, 1, rows)
    starts = range(0, rows, TILE)
    for row in starts:
        for column in starts[row // TILE :]:
            tile = slice(row, min(row + TILE, rows)), slice(column, min(column + TILE, rows))
            add_tile(sums, fill, labels, bounds, tile)
    found = [trial_statistics(sums, labels, (0,), folds, bounds) for folds in sets()]
    return [(one.M, one.a, one.trace) for one in found]


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
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    if os.environ.get("OPENBLAS_NUM_THREADS") != "1":  # it must be set before numpy is imported
        sys.exit(
            subprocess.run(
                [sys.executable, "-m", "tests.benchmarks.bench_statistics", *sys.argv[1:]], env=ONE_THREAD
            ).returncode
        )
    family = GaussianFamily.powers_of_two(LOWEST, LOWEST + arguments.kernels - 1)
    rng = np.random.default_rng(0)
    features, labels = rng.normal(size=(arguments.rows, FEATURES)), rng.normal(size=(arguments.rows, 1))
    fold = np.arange(arguments.rows) * FOLDS // arguments.rows
    seconds: dict[str, list[float]] = {"package": [], "script": []}
    for _ in range(arguments.repeats):
        begin = time.perf_counter()
        ours = by_package(features, labels - labels.mean(), fold, family)
        seconds["package"].append(time.perf_counter() - begin)
        begin = time.perf_counter()
        theirs = by_script(features, labels, fold, family.gammas())
        seconds["script"].append(time.perf_counter() - begin)
    package, script = (statistics.median(values) for values in seconds.values())
    print(
        f"{arguments.rows:,} rows, {arguments.kernels} kernels, {FOLDS} trials: package {package:.3f} s, script "
        f"{script:.1f} s, ratio {script / package:.1f}; largest relative difference {difference(ours, theirs):.1e}"
    )


if __name__ == "__main__":
    main()
