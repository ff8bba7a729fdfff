"""Solve the quadratic program of alignment maximisation, `min_{v >= 0} v'Mv - 2 v'a`, and certify the solution.

OSQP solves the program; an active-set method then refines the solution on the set of positive weights, because M may be
so ill-conditioned (condition number 5e17 for 20 Gaussian kernels) that first-order methods are not accurate enough. The
certificate does not depend on the status that a solver reports: the KKT residual is computed from M, a and v only.
"""

import threading

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.weights.linear_system import solve_least_norm

TOLERANCE = 1e-9
# For kernels scaled to norm one, weights below this fraction of the largest one are zero up to the accuracy of OSQP.
NEGLIGIBLE = 1e-7
# Limit on the number of rounds of the active-set method, per kernel. Each round adds one kernel, and removes those
# whose weights reach 0; typical problems need a few rounds.
ROUNDS_PER_KERNEL = 3
# OSQP replaces the handler of Ctrl-C while it solves and restores it afterwards. If several threads do so at the same
# time, the last one may restore the handler of another, and Ctrl-C is ignored from then on.
_one_at_a_time = threading.Lock()


def kkt_residual(M: Floats, a: Floats, v: Floats) -> float:
    """Return the violation of the KKT conditions by `v`, relative to max|a|; 0 for an exact solution.

    The conditions are `v >= 0`, and `Mv - a = 0` where v > 0, `Mv - a >= 0` where v = 0.
    """
    scale = float(np.abs(a).max(initial=0.0))
    if scale == 0.0:
        return 0.0 if not v.any() else float("inf")
    gradient = M @ v - a
    violation = np.where(v > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
    return float(max(violation.max(initial=0.0), np.maximum(-v, 0.0).max(initial=0.0)) / scale)


def nonnegative_qp(M: Floats, a: Floats) -> tuple[Floats, float]:
    """Solve `min_{v >= 0} v'Mv - 2 v'a` for a symmetric positive semi-definite M.

    Constant kernels (a zero on the diagonal of M) get weight 0.

    Returns
    -------
    v, residual
        The solution and its KKT residual relative to max|a|.

    Raises
    ------
    ValueError
        If M or a is not finite.
    """
    require_finite("M and a", M, a)
    v = np.zeros(len(a))
    varying = np.flatnonzero(np.diag(M) > 0)
    if a[varying].max(initial=0.0) <= 0.0:
        return v, kkt_residual(M, a, v)
    norms = np.sqrt(np.diag(M)[varying])  # for kernels scaled to norm one, M has a unit diagonal
    unit_M = M[np.ix_(varying, varying)] / np.outer(norms, norms)
    unit_a = a[varying] / norms
    unit_a /= (size := float(unit_a.max()))
    proposal = _osqp(unit_M, unit_a)
    best = min((proposal, active_set(unit_M, unit_a, proposal)), key=lambda x: kkt_residual(unit_M, unit_a, x))
    v[varying] = best * size / norms
    return v, kkt_residual(M, a, v)


def _osqp(M: Floats, a: Floats) -> Floats:
    """Solve the program by OSQP; return zeros if it finds no solution."""
    import osqp  # takes half a second, so it is imported only when needed

    p = len(a)
    solver = osqp.OSQP()
    try:
        solver.setup(
            P=scipy.sparse.csc_matrix(np.triu(M)),
            q=-a,
            A=scipy.sparse.identity(p, format="csc"),
            l=np.zeros(p),
            u=np.full(p, np.inf),
            eps_abs=TOLERANCE,
            eps_rel=TOLERANCE,
            max_iter=20_000,
            polishing=False,  # `active_set` is more accurate, and OSQP's polishing prints to the terminal
            adaptive_rho_interval=50,  # in iterations instead of seconds, so that results are reproducible
            verbose=False,
        )
    except osqp.OSQPException:  # rounding has made M indefinite
        return np.zeros(p)
    with _one_at_a_time:
        result = solver.solve(raise_error=False)
    if result.info.status_val not in (1, 2) or not np.isfinite(result.x).all():
        return np.zeros(p)
    x = np.maximum(np.asarray(result.x, dtype=np.float64), 0.0)
    x[x < NEGLIGIBLE * x.max(initial=0.0)] = 0.0
    return x


def active_set(M: Floats, a: Floats, start: Floats) -> Floats:
    """Solve the program by Lawson and Hanson's active-set method, started from the positive weights of `start`.

    A kernel that enters is never a linear combination of those in the set, so M may be singular.

    Parameters
    ----------
    M, a
        Scaled so that M has a unit diagonal and the largest entry of a is 1.
    """
    v = start.copy()
    support = v > 0
    best, best_residual = v.copy(), kkt_residual(M, a, v)
    for _ in range(ROUNDS_PER_KERNEL * len(a) + 1):
        while support.any():
            inside = np.flatnonzero(support)
            solution, outside = solve_least_norm(M[np.ix_(inside, inside)], a[inside])
            # Move from v towards the solution until the first weight reaches 0, and remove that kernel. If the whole
            # solution is positive, move on from there along the part of a outside the range of M.
            move = solution - v[inside]
            if (solution > 0).all():
                v[inside] = solution
                move = outside
                if not (outside < 0).any():
                    break
            falling = move < 0
            ratios = np.divide(-v[inside], move, out=np.full(len(inside), np.inf), where=falling)
            length = float(ratios.min())
            v[inside] += length * move
            leaving = inside[ratios <= length]
            v[leaving] = 0.0
            support[leaving] = False
        residual = kkt_residual(M, a, v)
        if residual < best_residual:
            best, best_residual = v.copy(), residual
        gradient = M @ v - a
        entering = int(np.argmin(np.where(support, np.inf, gradient)))
        if support.all() or gradient[entering] >= -np.finfo(float).eps * len(a):
            break
        support[entering] = True
    return best
