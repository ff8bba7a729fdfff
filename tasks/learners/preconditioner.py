"""Approximate a kernel by one of low rank, as a preconditioner that serves all ridges.

Columns are chosen by randomly pivoted Cholesky: the probability of a column is proportional to the part of its diagonal
entry that the earlier columns do not explain [1]_. Many candidates are drawn at a time, and accepted or rejected so
that their distribution is the same as if they were drawn one by one [2]_; all large operations are then products of
matrices.

References
----------
.. [1] Chen, Epperly, Tropp, Webber: "Randomly pivoted Cholesky: Practical approximation of a kernel matrix with few
   entry evaluations". Communications on Pure and Applied Mathematics, 2025.
.. [2] Epperly, Tropp, Webber: "Embrace rejection: Kernel matrix approximation by accelerated randomly pivoted
   Cholesky". 2024.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.learners.kernel_operator import KernelOperator
from kernel_pipeline.tasks.progress import report_progress

SEED = 0
# Number of candidates that are drawn at a time.
CANDIDATES = 100
# Fraction of its diagonal entry that a pivot must retain; a smaller remainder is rounding error.
MIN_PIVOT = 1e-6
# Eigenvalues below this fraction of the largest one are lost in rounding when `F'F` is formed.
MIN_EIGENVALUE = 1e-12
# Number of random vectors with which the tail is estimated.
PROBES = 8
# Number of rows that are transformed at a time, which bounds the memory.
ROWS = 1024


@dataclass(frozen=True)
class LowRankApproximation:
    """Approximation `U diag(sigma) U'` of a kernel; U is orthonormal up to rounding."""

    vectors: Floats
    """U, (n, rank)."""
    values: Floats
    """sigma, in ascending order."""
    tail: float
    """Typical eigenvalue of the remainder E of the kernel: estimate of `trace(E^2) / trace(E)`."""

    def precondition(self, block: Floats, ridges: Floats) -> Floats:
        """Return `U (sigma + l)^-1 U'b + (b - U U'b) / (tail + l)` for each column b with its own ridge l."""
        shrunk = (self.values[:, None] - self.tail) / (self.values[:, None] + ridges)
        return np.asarray((block - self.vectors @ (shrunk * (self.vectors.T @ block))) / (self.tail + ridges))


def approximate_kernel(operator: KernelOperator, rank: int, tolerance: float) -> LowRankApproximation:
    """Approximate a kernel with at most `rank` columns; stop once the trace of the remainder is at most `tolerance`."""
    factor = rpcholesky(operator, rank, tolerance)
    values, vectors = np.linalg.eigh(factor.T @ factor)
    kept = values > MIN_EIGENVALUE * max(values[-1], 0.0) if len(values) else np.zeros(0, dtype=bool)
    transform = vectors[:, kept] / np.sqrt(values[kept])
    for start in range(0, len(factor), ROWS):  # in place
        factor[start : start + ROWS, : transform.shape[1]] = factor[start : start + ROWS] @ transform
    found = factor[:, : transform.shape[1]]
    return LowRankApproximation(found, values[kept], _tail(operator, found, values[kept]))


def _tail(operator: KernelOperator, vectors: Floats, values: Floats) -> float:
    """Estimate `trace(E^2) / trace(E)` of `E = K - U diag(sigma) U'` with random vectors."""
    probes = np.random.default_rng(SEED).standard_normal((operator.size, PROBES))
    images = operator.multiply(probes) - vectors @ (values[:, None] * (vectors.T @ probes))
    trace = float(np.vdot(probes, images))
    return float(np.vdot(images, images)) / trace if trace > 0 else 0.0


def rpcholesky(operator: KernelOperator, rank: int, tolerance: float) -> Floats:
    """Return F, (n, at most `rank`), such that `F F'` approximates the kernel.

    Parameters
    ----------
    tolerance
        Trace of `K - F F'` at which to stop.
    """
    rng = np.random.default_rng(SEED)
    remaining = np.maximum(operator.diagonal(), 0.0)
    factor = np.empty((operator.size, rank), order="F")
    count = 0
    while count < rank and remaining.sum() > tolerance:
        drawn = rng.choice(operator.size, CANDIDATES, p=remaining / remaining.sum())
        columns, known = operator.columns(drawn), factor[:, :count]
        matrix = columns[drawn] - known[drawn] @ known[drawn].T
        accepted, root = _accept(matrix, remaining[drawn], rng.random(CANDIDATES))
        accepted, root = accepted[: rank - count], root[: rank - count, : rank - count]
        if not len(accepted):  # the remaining diagonal is rounding error
            break
        pivots, new = drawn[accepted], slice(count, count + len(accepted))
        rest = columns[:, accepted] - known @ known[pivots].T
        factor[:, new] = solve_triangular(root, rest.T, lower=True).T
        remaining = np.maximum(remaining - np.einsum("ij,ij->i", factor[:, new], factor[:, new]), 0.0)
        remaining[pivots] = 0.0
        count = new.stop
        report_progress(f"preconditioner, {count} of at most {rank} columns")
    return factor[:, :count]


def _accept(matrix: Floats, diagonal: Floats, uniform: Floats) -> tuple[Integers, Floats]:
    """Accept or reject candidates in turn.

    The probability that a candidate is accepted is the fraction of its diagonal entry that remains after the candidates
    accepted before it.

    Parameters
    ----------
    matrix
        Kernel of the candidates, minus its approximation by earlier columns.
    diagonal
        Diagonal with which the candidates were drawn.
    uniform
        Random number between 0 and 1 for each candidate.

    Returns
    -------
    accepted, root
        Positions of the accepted candidates, and the Cholesky factor of their part of `matrix`.
    """
    rest = matrix.copy()
    accepted: list[int] = []
    roots = []
    for number, threshold in enumerate(np.maximum(uniform, MIN_PIVOT) * diagonal):
        if rest[number, number] > threshold:
            root = rest[:, number] / np.sqrt(rest[number, number])
            rest -= np.outer(root, root)
            accepted.append(number)
            roots.append(root)
    chosen = np.array(accepted, dtype=np.int64)
    return chosen, np.array(roots).reshape(-1, len(matrix))[:, chosen].T
