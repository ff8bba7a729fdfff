"""Compute the minimum-norm solution of a symmetric positive semi-definite system, which may be singular."""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from kernel_pipeline.tasks.arrays import Floats, require_finite

# A matrix with a smaller inverse condition number is treated as singular.
MIN_INVERSE_CONDITION = 1e-10
# Rounding error of M, which is a difference of sums, in units of eps. Nearly equal kernels have eigenvalues below it,
# whose eigenvectors would contribute amplified noise to the solution.
ROUNDING = 64
# Part of the right-hand side outside the range of M that is attributed to rounding, relative to its largest entry.
RANGE_TOLERANCE = 1e-12


def minimum_norm_solution(M: Floats, a: Floats) -> tuple[Floats, float]:
    """Return `M^-1 a`, or the minimum-norm solution if M is singular, and its residual.

    Constant kernels (a zero on the diagonal of M) get exactly 0.

    Returns
    -------
    v, residual
        The solution, and `max |Mv - a|` relative to `max |a|`.
    """
    require_finite("M and a", M, a)
    scale = float(np.abs(a).max(initial=0.0))
    v = np.zeros_like(a)
    if scale == 0.0:
        return v, 0.0
    if len(varying := np.flatnonzero(np.diag(M) > 0)):
        v[varying], _ = solve_least_norm(M[np.ix_(varying, varying)], a[varying], MIN_INVERSE_CONDITION, ROUNDING)
    return v, float(np.abs(M @ v - a).max() / scale)


def solve_least_norm(
    M: Floats, a: Floats, min_inverse_condition: float = 0.0, rounding: float = 1.0
) -> tuple[Floats, Floats]:
    """Solve `Mx = a` by Cholesky factorisation, or by an eigendecomposition if M is singular.

    Parameters
    ----------
    min_inverse_condition
        Inverse condition number below which M is treated as singular; with 0, only if the factorisation fails.
    rounding
        Eigenvalues of at most `rounding * eps * p` times the largest one count as 0.

    Returns
    -------
    x, outside
        The minimum-norm solution, and the part of a that is outside the range of M; 0 if there is none.
    """
    x = _solve_by_cholesky(M, a, min_inverse_condition)
    if x is not None:
        return x, np.zeros_like(a)
    values, vectors = np.linalg.eigh(M)
    in_range = values > rounding * np.finfo(float).eps * len(a) * values[-1]
    basis, complement = vectors[:, in_range], vectors[:, ~in_range]
    x = basis @ ((basis.T @ a) / values[in_range])
    outside = complement @ (complement.T @ a)
    return x, np.where(np.abs(outside) > RANGE_TOLERANCE * np.abs(a).max(), outside, 0.0)


def _solve_by_cholesky(M: Floats, a: Floats, min_inverse_condition: float) -> Floats | None:
    """Solve with one step of iterative refinement; return None if M is singular or close to it."""
    try:
        factor, lower = scipy.linalg.cho_factor(M)
    except np.linalg.LinAlgError:
        return None
    if min_inverse_condition > 0:
        norm = np.abs(M).sum(axis=0).max()
        inverse_condition, _ = lapack.dpocon(factor, norm, uplo="L" if lower else "U")
        if inverse_condition < min_inverse_condition:
            return None
    x = scipy.linalg.cho_solve((factor, lower), a)
    return np.asarray(x + scipy.linalg.cho_solve((factor, lower), a - M @ x))
