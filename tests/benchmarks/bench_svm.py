"""Compare the working-set solver of support vector machines with libsvm: time and duality gaps, on one thread.

    OPENBLAS_NUM_THREADS=1 python -m tests.benchmarks.bench_svm DATA_DIR [--rows 4000 8000] [--part 0.5] [--log2-c 4]

The data are rows of a9a, the kernel is the mean of 7 Gaussians, and C has 12 values unless others are given. Both
solvers are measured within one run and in turn, with the kernel in memory; working sets then also with rows that are
computed from the features, and with a cache that holds a part of them. Errors are those of 2,000 other rows. The
benchmark fails if a gap of working sets is above 1e-3, or if their
labels differ from those of libsvm by more than samples whose decision values are almost zero.
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_svmlight_file

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.family import Samples
from kernel_pipeline.tasks.kernels.fitted_families import fitted_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.learners.feature_rows import FeatureRows
from kernel_pipeline.tasks.learners.svm import fit_svm_path
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.learners.svm_machines import SvmMachines, fit_svm
from tests.tasks.square_rows import SquareRows

LOG2_C = range(-4, 19, 2)
KERNELS, HELD_OUT = (-7, -1), 2000
# Decision values closer to zero than this may get either label.
CLOSE = 2e-3


@dataclass(frozen=True)
class CountedRows(FeatureRows):
    """Rows from features that are counted."""

    computed: list[int] = field(default_factory=list)

    def rows(self, indices: Integers) -> Floats:
        self.computed.append(len(indices))
        return super().rows(indices)


def seconds(function: Callable[..., Any], *arguments: object) -> tuple[Any, float]:
    """Return the result of a call and the processor time that it took."""
    start = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - start


def differing_labels(ours: Floats, libsvm: Floats) -> int:
    """Return the number of labels that differ although no decision value is close to zero."""
    clear = np.minimum(np.abs(ours), np.abs(libsvm)) > CLOSE
    return int(((ours > 0) != (libsvm > 0))[clear].sum())


def measure(folder: Path, rows: int, part: float, costs: list[float]) -> bool:
    """Measure one size; return whether everything is certified."""
    sparse, classes = load_svmlight_file(str(folder / "large/a9a.gz"), n_features=123)
    chosen = np.random.default_rng(0).permutation(sparse.shape[0])[: rows + HELD_OUT]
    samples, target = Samples(sparse[chosen].toarray()), classes[chosen][:rows, None]
    held_out_labels = classes[chosen][rows:, None]
    families = fitted_families([GaussianFamily(log2_gamma=KERNELS)], samples)
    weights = np.full(KERNELS[1] - KERNELS[0] + 1, 1.0 / rows)
    train, held_out = np.arange(rows), np.arange(rows, rows + HELD_OUT)
    features = FeatureRows(families, samples, weights, train, train)
    square, kernel_seconds = seconds(features.rows, train)
    tested = FeatureRows(families, samples, weights, held_out, train).rows(np.arange(HELD_OUT))
    print(f"{rows:,} training rows; the kernel takes {kernel_seconds:.1f} s")
    fitted, libsvm_seconds = seconds(fit_svm_path, square, target, costs)
    assert fitted.certificates is not None
    expected = fitted.predict(tested)

    def errors(decisions: Floats) -> str:
        found = np.mean((decisions[:, 0] > 0) != (held_out_labels > 0), axis=0)
        return "errors " + " ".join(f"{error:.4f}" for error in found)

    print(
        f"  {'libsvm, kernel in memory':53} {libsvm_seconds:7.1f} s, largest gap {np.max(fitted.certificates):.1e}, "
        f"{errors(expected)}"
    )
    certified = True

    def report(name: str, found: SvmMachines, taken: float, computed: int) -> bool:
        decisions = found.predict(tested)
        different = differing_labels(decisions, expected)
        print(
            f"  {name:53} {taken:7.1f} s  {taken / libsvm_seconds:5.2f} times libsvm, {computed:6,} rows computed, "
            f"largest gap {found.gaps.max():.1e}, {different} labels differ, {errors(decisions)}"
        )
        return bool(found.gaps.max() <= MAX_GAP) and not different

    found, taken = seconds(fit_svm, SquareRows(square), target, costs)
    certified &= report("working sets, kernel in memory", found, taken, 0)
    for name, size in (("all rows", 1.0), (f"{100 * part:.0f} % of the rows", part)):
        counted = CountedRows(families, samples, weights, train, train)
        found, taken = seconds(fit_svm, counted, target, costs, None, int(8 * rows**2 * size))
        certified &= report(f"working sets from features, cache of {name}", found, taken, sum(counted.computed))
    return certified


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("--rows", type=int, nargs="+", default=[4000, 8000])
    parser.add_argument("--part", type=float, default=0.5, help="part of the rows that the smaller cache holds")
    parser.add_argument("--log2-c", type=int, nargs="+", default=LOG2_C, help="exponents of the values of C")
    arguments = parser.parse_args()
    costs = [2.0**exponent for exponent in arguments.log2_c]
    print(f"{os.environ.get('OPENBLAS_NUM_THREADS', 'all')} thread(s), load {os.getloadavg()[0]:.1f}")
    certified = [measure(arguments.data_dir, rows, arguments.part, costs) for rows in arguments.rows]
    if not all(certified):
        sys.exit("a fit is not certified, or its labels differ from those of libsvm")


if __name__ == "__main__":
    main()
