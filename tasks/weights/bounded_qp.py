"""Maximise the alignment with an upper bound on each weight, and certify the solution.

The weights `mu = v / sum(v)` with `mu_k <= u_k` are the directions of the cone `0 <= v_k <= u_k sum(v)`. As for all
nonnegative weights (Proposition 9), the direction of largest alignment in a cone solves `min v'Mv - 2 v'a` over it. The
program is solved by column generation over the extreme rays of the cone. Each round solves a nonnegative program for
the combination of the current rays, and adds the ray along which the objective decreases fastest, which is found by
sorting. The method stops when the objective does not decrease along any ray.
"""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.weights.qp import nonnegative_qp

# Largest rate of decrease along a ray, relative to max|a|, at which the solution is exact up to rounding.
TOLERANCE = 1e-12
# Limit on the number of rounds, far above what problems need; the caller checks the residual.
ROUNDS_PER_KERNEL = 20


def bounded_qp(M: Floats, a: Floats, upper: Floats) -> tuple[Floats, float]:
    """Solve `min v'Mv - 2 v'a` such that `0 <= v_k <= upper_k sum(v)`, for a symmetric positive semi-definite M.

    Constant kernels (a zero on the diagonal of M) get weight 0.

    Parameters
    ----------
    upper
        Largest share of each kernel, (p,). If those of the varying kernels sum to less than one, they are scaled to
        sum to one; each weight is then equal to its bound.

    Returns
    -------
    v, residual
        The solution and its KKT residual relative to max|a|; see `bounded_residual`.
    """
    require_finite("M and a", M, a)
    v = np.zeros(len(a))
    varying = np.flatnonzero(np.diag(M) > 0)
    if a[varying].max(initial=0.0) <= 0.0:
        return v, 0.0
    products, linear = M[np.ix_(varying, varying)], a[varying]
    limits = _feasible(upper[varying])
    scale = float(np.abs(linear).max())
    rays = steepest_ray(-linear, limits)[:, None]
    found = np.zeros(len(varying))
    for _ in range(ROUNDS_PER_KERNEL * len(varying) + 1):
        shares, _ = nonnegative_qp(rays.T @ products @ rays, rays.T @ linear)
        found = rays @ shares
        gradient = products @ found - linear
        entering = steepest_ray(gradient, limits)
        if gradient @ entering >= -TOLERANCE * scale or not _is_new(rays, entering):
            break
        rays = np.column_stack([rays[:, shares > 0], entering])
    v[varying] = found
    return v, bounded_residual(products, linear, limits, found)


def bounded_residual(M: Floats, a: Floats, upper: Floats, v: Floats) -> float:
    """Return the violation of the KKT conditions by `v`, relative to max|a|; 0 for an exact solution.

    The conditions are that v is in the cone, that the gradient `g = Mv - a` has `g'r >= 0` for every ray r of the cone
    whose entries sum to one, and `g'v = 0`.
    """
    scale, total = float(np.abs(a).max(initial=0.0)), float(v.sum())
    if scale == 0.0:
        return 0.0 if not v.any() else float("inf")
    gradient = M @ v - a
    descent = -float(gradient @ steepest_ray(gradient, upper))
    if not v.any():  # a solution if there is no direction with a positive alignment
        return max(descent / scale, 0.0)
    shares = v / total
    outside = float(np.maximum(shares - upper, -shares).max())
    return max(descent / scale, abs(float(gradient @ shares)) / scale, outside, 0.0)


def steepest_ray(gradient: Floats, upper: Floats) -> Floats:
    """Return the weights that sum to one and are at most `upper`, and for which `gradient @ weights` is smallest.

    >>> steepest_ray(np.array([3.0, 1.0, 2.0]), np.array([0.6, 0.6, 0.6])).tolist()
    [0.0, 0.6, 0.4]
    """
    order = np.argsort(gradient, kind="stable")
    before = np.cumsum(upper[order]) - upper[order]
    ray = np.zeros(len(gradient))
    ray[order] = np.clip(1.0 - before, 0.0, upper[order])
    return ray


def _feasible(upper: Floats) -> Floats:
    """Return limits that sum to at least one."""
    total = float(upper.sum())
    return upper if total >= 1.0 else upper / total


def _is_new(rays: Floats, ray: Floats) -> bool:
    return not (rays == ray[:, None]).all(axis=0).any()
