"""Compare iterations with a tridiagonalisation for the ridge path of many samples.

    python -m tests.benchmarks.bench_ridge --data-dir DIR [--samples 6000] [--without-tridiagonal]

The kernel has trace one and consists of 13 Gaussians, 2^-8 to 2^4, with uniform weights, on protein with standardised
features; there are 16 ridges, 2^-30 to 2^0. Both approaches run in this process, in place and with one BLAS thread.
Seconds are those of the CPU, since other processes may run. Memory is the peak of the arrays that Python allocates,
including the kernel, in units of n^2 numbers; the workspaces of BLAS do not depend on n.
"""

import argparse
import gzip
import time
import tracemalloc
from pathlib import Path
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners import ridge_cost
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.ridge import fit_ridge_path

RIDGES = [2.0**exponent for exponent in range(0, -31, -2)]
GAUSSIANS = 13
SMALLEST_GAMMA = 2.0**-8
# Rows of the kernel that are computed at a time.
ROWS = 500


def protein(data_dir: Path, samples: int) -> tuple[Floats, Floats]:
    """Return standardised features and labels of randomly chosen rows."""
    with gzip.open(data_dir / "large" / "casp_protein.csv.gz", "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    table = table[np.random.default_rng(0).permutation(len(table))[:samples]]
    features = table[:, 1:]
    return (features - features.mean(axis=0)) / features.std(axis=0), table[:, [0]]


def centered_kernel(features: Floats) -> Floats:
    """Return the mean of the Gaussian kernels, each centered and scaled to trace one, computed in blocks of rows."""
    n, squares = len(features), (features**2).sum(axis=1)
    kernel, means = np.empty((n, n)), np.empty((GAUSSIANS, n))
    scales = np.ones(GAUSSIANS)
    for scaled in (False, True):  # the traces follow from the means
        for start in range(0, n, ROWS):
            rows = slice(start, start + ROWS)
            distances = np.maximum(squares[rows, None] + squares - 2 * features[rows] @ features.T, 0.0)
            distances[np.arange(len(distances)), np.arange(start, start + len(distances))] = 0.0
            one, total = np.exp(-SMALLEST_GAMMA * distances), np.zeros_like(distances)
            for number in range(GAUSSIANS):
                means[number, rows] = one.mean(axis=1)
                total += one * scales[number]
                one *= one
            kernel[rows] = total
        if not scaled:
            scales = 1.0 / (GAUSSIANS * (n - means.sum(axis=1)))
    mean = scales @ means
    kernel -= mean[:, None]
    kernel -= mean - mean.mean()
    return kernel


def measure(name: str, kernel: Floats, labels: Floats) -> tuple[float, FittedPath]:
    """Print the seconds, the memory and the largest residual of a path; return the seconds and the path."""
    tracemalloc.start()
    square = kernel.copy()
    began = time.process_time()
    fitted = fit_ridge_path(square, labels, RIDGES)
    seconds = time.process_time() - began
    peak = tracemalloc.get_traced_memory()[1] / (8 * len(kernel) ** 2)
    tracemalloc.stop()
    assert fitted.certificates is not None
    print(f"{name:>16}: {seconds:7.1f} s, {peak:.2f} n^2, largest residual {fitted.certificates.max():.1e}", flush=True)
    return seconds, fitted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=6000)
    parser.add_argument("--without-tridiagonal", action="store_true", help="measure the iterations only")
    arguments = parser.parse_args()
    with threadpool_limits(1):
        features, labels = protein(arguments.data_dir, arguments.samples)
        kernel = centered_kernel(features)
        print(f"n = {arguments.samples:,}: {ridge_cost.choose_approach(len(kernel), RIDGES, 1).reason}", flush=True)
        with mock.patch.object(ridge_cost, "MAX_TRIDIAGONAL", 0):
            seconds, iterated = measure("iterations", kernel, labels)
        if arguments.without_tridiagonal:
            return
        with mock.patch.object(ridge_cost, "MAX_TRIDIAGONAL", len(kernel)):
            reference, exact = measure("tridiagonal", kernel, labels)
    difference = np.abs(iterated.train - exact.train).max() / labels.std()
    print(f"{reference / seconds:.1f} times faster; predictions differ by {difference:.0e} standard deviations")


if __name__ == "__main__":
    main()
