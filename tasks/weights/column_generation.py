"""`min_{v >= 0} v'Mv - 2 v'a` for very many kernels, without ever forming M.

Solve on a working set, price all kernels by the gradient `Mv - a`, add those with a negative price, and stop when there
are none. The last pricing is the certificate: it holds for all kernels, not only for those of the working set.
"""

from collections.abc import Callable

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.kernels.base_kernels import dense_solver
from kernel_pipeline.tasks.weights.qp import active_set, kkt_residual

TOLERANCE = 1e-10
FIRST_SET = 1000
ROUNDS = 100
# Far more than any problem needs; it ends a cycle of exchanges that rounding may cause.
EXCHANGES_PER_KERNEL = 3

# Return M of some kernels.
Products = Callable[[Integers], Floats]
# Return M v of all kernels.
Pricing = Callable[[Floats], Floats]


def solve_by_columns(a: Floats, products: Products, pricing: Pricing) -> tuple[Floats, float]:
    """Return the solution and its KKT residual relative to max|a|, over all kernels.

    Parameters
    ----------
    a
        (p,): not negative; 0 for kernels that are to be left out.
    """
    scale = float(a.max(initial=0.0))
    v = np.zeros_like(a)
    if scale == 0.0:
        return v, 0.0
    working = np.argsort(-a, kind="stable")[:FIRST_SET]
    working = working[a[working] > 0]
    for _ in range(ROUNDS):
        solution = _solve(products(working), a[working], v[working])
        support, weights = working[solution > 0], solution[solution > 0]
        v[:] = 0.0
        v[support] = weights
        gradient = pricing(v) - a
        residual = (
            max(float(np.abs(gradient[support]).max(initial=0.0)), float(-np.minimum(gradient, 0.0).min())) / scale
        )
        paying = np.setdiff1d(np.flatnonzero((gradient < -TOLERANCE * scale) & (a > 0)), support)
        if not len(paying):
            break
        # Up to as many as have weight, so that the working set reaches its size in a few rounds.
        chosen = paying[np.argsort(gradient[paying], kind="stable")][: max(FIRST_SET, len(support))]
        working = np.concatenate([support, chosen])
    return v, residual


def _solve(M: Floats, a: Floats, start: Floats) -> Floats:
    """Solve the program for one M, from the positive weights of `start`.

    Block pivoting is faster. It fails where M is singular, with many more kernels than pairs of samples, since it
    exchanges whole blocks and meets sets of dependent kernels; then the active-set method is used.
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
        Which weights are positive in the first iteration.
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
        else:  # one at a time, which ends except for rounding; the caller checks the result
            wrong[np.flatnonzero(wrong)[:-1]] = False
        passive ^= wrong
    return np.maximum(solution, 0.0)
