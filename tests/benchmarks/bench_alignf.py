"""Compare solvers of the quadratic program of alignf with many rank-one kernels; the others need the whole matrix M.

    python -m tests.benchmarks.bench_alignf --data-dir DIR [--domain books] [--million]

The data are one training set (3 of 5 folds) of a domain of the sentiment reviews, with its ratings as labels: the 4,000
most frequent bigrams by column generation, by scipy's nnls on a Cholesky factor of M and by OSQP on M; then all
bigrams; then, with --million, a million synthetic columns. Every part runs in a separate process. Its time is that from
the counts to the weights, and its peak memory is that of the process before the weights are checked. The residual is
computed by independent code. Equal columns share their weight, and each counts as active. Our solver uses one BLAS
thread, the others two.
"""

import argparse
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.linalg
import scipy.sparse
from scipy.optimize import nnls

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.weights.qp import kkt_residual
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics
from tests.benchmarks.bench_sweeps import timed
from tests.benchmarks.sentiment_counts import FOLDS, count_bigrams

TOP = 4000
# Number of runs of our solver, which takes less than a second; the median is printed.
REPEATS = 5
# OSQP stops after this time and returns its last iterate; 150 iterations in 48 s were enough for books.
OSQP_SECONDS = 180.0
# Weights of OSQP that are this small relative to the largest one are zero up to rounding.
NEGLIGIBLE = 1e-7
# The synthetic matrix has as many samples as a training set of a domain.
MILLION, SAMPLES, MAX_ENTRIES, RELEVANT = 1_000_000, 1200, 30, 300

Counts = scipy.sparse.csr_array


def unit_columns(counts: Counts) -> tuple[scipy.sparse.csc_array, Floats]:
    """Return columns that have norm one after centering, and their means; both are 0 for constant columns."""
    columns = scipy.sparse.csc_array(counts)
    means = columns.sum(axis=0) / columns.shape[0]
    norms = np.sqrt(np.maximum(columns.power(2).sum(axis=0) - columns.shape[0] * means**2, 0.0))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 1e-6)
    return (columns @ scipy.sparse.diags_array(inverse)).tocsc(), means * inverse


def whole_problem(counts: Counts, labels: Floats) -> tuple[Floats, Floats]:
    """Return M and a as dense arrays."""
    columns, means = unit_columns(counts)
    X = columns.toarray() - means
    return (X.T @ X) ** 2, (X.T @ labels) ** 2


def by_columns(counts: Counts, labels: Floats) -> tuple[Floats, str]:
    v, certificate = RankOneStatistics(RankOneKernels.of(counts), labels[:, None]).nonnegative_solution()
    return v, f"certificate {certificate:.1e}"


def by_nnls(counts: Counts, labels: Floats) -> tuple[Floats, str]:
    M, a = whole_problem(counts, labels)
    varies = np.flatnonzero(np.diag(M))
    v = np.zeros(len(a))
    # Equal columns make M singular, so a little is added to the diagonal.
    root = scipy.linalg.cholesky(M[np.ix_(varies, varies)] + 1e-12 * np.eye(len(varies)))
    v[varies] = nnls(root, scipy.linalg.solve_triangular(root, a[varies], trans="T"))[0]
    return v, "converged"


def by_osqp(counts: Counts, labels: Floats) -> tuple[Floats, str]:
    import osqp

    M, a = whole_problem(counts, labels)
    p = len(a)
    scale = float(a.max())
    solver = osqp.OSQP()
    solver.setup(
        P=scipy.sparse.csc_matrix(np.triu(M)),
        q=-a / scale,
        A=scipy.sparse.identity(p, format="csc"),
        l=np.zeros(p),
        u=np.full(p, np.inf),
        eps_abs=1e-9,
        eps_rel=1e-9,
        max_iter=1_000_000,
        time_limit=OSQP_SECONDS,
        verbose=False,
    )
    result = solver.solve(raise_error=False)
    v = np.maximum(np.asarray(result.x), 0.0) * scale
    v[v < NEGLIGIBLE * v.max()] = 0.0
    return v, f"{result.info.status} after {result.info.iter} iterations"


def independent_residual(counts: Counts, labels: Floats, v: Floats) -> float:
    """Return the same as `qp.kkt_residual` from one block of rows of M at a time, since M may be too large."""
    columns, means = unit_columns(counts)
    a: Floats = (columns.T @ labels) ** 2
    support = np.flatnonzero(v)
    X = columns[:, support].toarray() - means[support]
    worst = float(np.maximum(-v, 0.0).max())
    for start in range(0, len(v), 10_000):
        block = slice(start, start + 10_000)
        gradient = np.asarray(columns[:, block].T @ X) ** 2 @ v[support] - a[block]
        worst = max(worst, float(np.where(v[block] > 0, np.abs(gradient), -gradient).max()))
    return worst / float(a.max())


def training_set(folder: Path, domain: str, top: int | None) -> tuple[Counts, Floats]:
    """Return counts and centered ratings of the training set of the first trial."""
    counts, ratings, fold = count_bigrams(folder, domain, top)
    train = np.flatnonzero(np.isin(fold, trials(FOLDS)[0].train))
    return counts[train], ratings[train] - ratings[train].mean()


def million() -> tuple[Counts, Floats]:
    """Return random columns with 1 to 30 entries, and labels that depend on some of the longer columns.

    The probability of k entries is proportional to 1/k. More real bigrams have one entry, so that fewer are distinct.
    """
    rng = np.random.default_rng(0)
    lengths = np.arange(1, MAX_ENTRIES + 1)
    entries = rng.choice(lengths, size=MILLION, p=(1 / lengths) / (1 / lengths).sum())
    long_documents = rng.lognormal(sigma=0.7, size=SAMPLES)
    rows = rng.choice(SAMPLES, size=entries.sum(), p=long_documents / long_documents.sum())
    values = rng.geometric(0.8, size=len(rows)).astype(np.float64)
    columns = np.repeat(np.arange(MILLION), entries)
    counts = scipy.sparse.csr_array((values, (rows, columns)), shape=(SAMPLES, MILLION))
    relevant = rng.choice(np.flatnonzero(entries > MAX_ENTRIES // 2), size=RELEVANT, replace=False)
    labels = counts[:, relevant] @ rng.normal(size=RELEVANT) + rng.normal(size=SAMPLES)
    return counts, labels - labels.mean()


SOLVERS: dict[str, Callable[[Counts, Floats], tuple[Floats, str]]] = {
    "ours": by_columns,
    "nnls": by_nnls,
    "osqp": by_osqp,
    "all": by_columns,
    "million": by_columns,
}


def measure(part: str, folder: Path, domain: str) -> dict[str, float | str]:
    """Measure one part in this process."""
    counts, labels = million() if part == "million" else training_set(folder, domain, None if part == "all" else TOP)
    begin = time.perf_counter()
    v, note = SOLVERS[part](counts, labels)
    seconds = time.perf_counter() - begin
    # Linux counts in kilobytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    found: dict[str, float | str] = {"seconds": seconds, "GiB": peak, "active": int((v > 0).sum()), "note": note}
    found |= {"n": counts.shape[0], "columns": counts.shape[1], "entries": counts.nnz}
    if part in ("all", "million"):
        found["distinct"] = len(RankOneKernels.of(counts).distinct().chosen)
        found["residual"] = independent_residual(counts, labels, v)
    else:
        M, a = whole_problem(counts, labels)
        found["residual"], found["objective"] = kkt_residual(M, a, v), float(v @ M @ v - 2 * v @ a)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", type=Path, required=True)
    parser.add_argument("--domain", default="books")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--part", choices=SOLVERS, help="run only this part in this process, and print JSON")
    arguments = parser.parse_args()
    if arguments.part:
        print(json.dumps(measure(arguments.part, arguments.data_dir, arguments.domain)))
        return
    print(f"{arguments.domain}; {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start")
    done: dict[str, dict[str, float]] = {}
    for part in SOLVERS:
        if part == "million" and not arguments.million:
            continue
        threads = "2" if part in ("nnls", "osqp") else "1"
        environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        same = ["--data-dir", str(arguments.data_dir), "--domain", arguments.domain]
        command = [sys.executable, "-m", "tests.benchmarks.bench_alignf", *same, "--part", part]
        runs = [json.loads(timed(command, environment)[1]) for _ in range(REPEATS if part == "ours" else 1)]
        found = done[part] = sorted(runs, key=lambda run: float(run["seconds"]))[len(runs) // 2]
        print(
            f"{part:8} {found['seconds']:7.2f} s {found['GiB']:5.2f} GiB  residual {found['residual']:.1e}  "
            f"{found['active']} active of {found['columns']:,} ({found['entries']:,} entries, n = {found['n']})"
            + (f", {found['distinct']:,} distinct" if "distinct" in found else "")
            + f"  {found['note']}",
            flush=True,
        )
    for other in ("nnls", "osqp"):
        more = (done[other]["objective"] - done["ours"]["objective"]) / abs(done["ours"]["objective"])
        ratio = done[other]["seconds"] / done["ours"]["seconds"]
        print(f"{other} relative to ours: {ratio:.0f} times the time, objective higher by a factor of 1 + {more:.1e}")


if __name__ == "__main__":
    main()
