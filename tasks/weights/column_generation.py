"""Solve `min_{v >= 0} v'Mv - 2 v'a` for very many kernels by column generation, without forming M.

Each round solves the program on a working set, computes the gradient `Mv - a` of all kernels, and adds those with a
negative entry; the method stops when there are none. The last gradient is the certificate: it covers all kernels, not
only those of the working set.
"""

from collections.abc import Callable

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.kernels.base_kernels import dense_solver
from kernel_pipeline.tasks.weights.qp import active_set, kkt_residual

TOLERANCE = 1e-10
# Initial size of the working set; the limit on the kernels that join it in one round is never below this number.
FIRST_SET = 1000
MAX_ROUNDS = 100
# Limit on the number of exchanges, far above what problems need; it ends cycles that rounding errors may cause.
EXCHANGES_PER_KERNEL = 3

# Function that returns M of the given kernels, (number of kernels, number of kernels).
Products = Callable[[Integers], Floats]
# Function that returns M v of all kernels.
Pricing = Callable[[Floats], Floats]


def solve_by_columns(a: Floats, products: Products, pricing: Pricing) -> tuple[Floats, float]:
    """Solve the program, and return the solution and its KKT residual over all kernels, relative to max|a|.

    Parameters
    ----------
    a
        Products of the kernels with the labels, (p,), not negative; kernels with 0 are left out.
    products
        Function that returns M of the kernels with the given indices.
    pricing
        Function that returns `Mv` of all kernels.
    """
    scale = float(a.max(initial=0.0))
    v = np.zeros_like(a)
    if scale == 0.0:
        return v, 0.0
    working = np.argsort(-a, kind="stable")[:FIRST_SET]
    working = working[a[working] > 0]
    for _ in range(MAX_ROUNDS):
        solution = _solve(products(working), a[working], v[working])
        support, weights = working[solution > 0], solution[solution > 0]
        v[:] = 0.0
        v[support] = weights
        gradient = pricing(v) - a
        residual = (
            max(float(np.abs(gradient[support]).max(initial=0.0)), float(-np.minimum(gradient, 0.0).min())) / scale
        )
        entering = np.setdiff1d(np.flatnonzero((gradient < -TOLERANCE * scale) & (a > 0)), support)
        if not len(entering):
            break
        # As many kernels as have a positive weight may join, so that the set reaches its final size in a few rounds.
        chosen = entering[np.argsort(gradient[entering], kind="stable")][: max(FIRST_SET, len(support))]
        working = np.concatenate([support, chosen])
    return v, residual


def _solve(M: Floats, a: Floats, start: Floats) -> Floats:
    """Solve the program for one M, starting from the positive weights of `start`.

    Block pivoting is faster, but it exchanges whole blocks of kernels, and fails for a singular M when a block is
    linearly dependent, as with many more kernels than pairs of samples. Then the active-set method is used.
    """
    solution = block_pivoting(M, a, start > 0)
    if kkt_residual(M, a, solution) <= TOLERANCE:
        return solution
    scale = float(a.max())
    return active_set(M, a / scale, start / scale) * scale


def block_pivoting(M: Floats, a: Floats, passive: Booleans) -> Floats:
    """Solve the program for one M by exchanging whole blocks of kernels (Portugal, Judice and Vicente 1994).

    Parameters
    ----------
    passive
        Whether each weight is positive in the first iteration.
    """
    tolerance = 1e-13 * float(np.abs(a).max())
    passive, fewest, patience = passive.copy(), len(a) + 1, 3
    for _ in range(EXCHANGES_PER_KERNEL * len(a) + 1):
        solution = np.zeros_like(a)
        inside = np.flatnonzero(passive)
        if len(inside):
            solution[inside] = dense_solver(M[np.ix_(inside, inside)], 0.0)(a[inside])
        gradient = M[:, inside] @ solution[inside] - a
        wrong = np.where(passive, solution < 0, gradient < -tolerance)
        count = int(wrong.sum())
        if count == 0:
            break
        if count < fewest:
            fewest, patience = count, 3
        elif patience > 0:
            patience -= 1
        else:  # one kernel at a time, which terminates in exact arithmetic; the caller checks the result
            wrong[np.flatnonzero(wrong)[:-1]] = False
        passive ^= wrong
    return np.maximum(solution, 0.0)
