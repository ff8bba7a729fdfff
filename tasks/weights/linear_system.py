"""The solution of least norm of a symmetric positive semi-definite system, which may be singular."""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from kernel_pipeline.tasks.arrays import Floats, require_finite

# A matrix that is worse conditioned is treated as singular, and directions below its rounding are left out.
MIN_INVERSE_CONDITION = 1e-10
# Rounding of M, which is a difference of sums, in units of eps: with kernels that are nearly equal, the solution in a
# direction below it would be noise times a large number.
ROUNDING = 64
# Part of the right-hand side that may be left over when a singular system is solved; less is rounding.
REACHED = 1e-12


def minimum_norm_solution(M: Floats, a: Floats) -> tuple[Floats, float]:
    """Return `M^-1 a`, of least norm where M is singular, and its residual.

    Kernels without variance (a zero on the diagonal of M) get exactly 0.

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
    if len(alive := np.flatnonzero(np.diag(M) > 0)):
        v[alive], _ = solve_least_norm(M[np.ix_(alive, alive)], a[alive], MIN_INVERSE_CONDITION, ROUNDING)
    return v, float(np.abs(M @ v - a).max() / scale)


def solve_least_norm(
    M: Floats, a: Floats, min_inverse_condition: float = 0.0, rounding: float = 1.0
) -> tuple[Floats, Floats]:
    """Solve `Mx = a` by Cholesky factorisation, and by eigenvectors where M is singular.

    Parameters
    ----------
    min_inverse_condition
        Inverse condition number below which M is treated as singular; 0 to rely on the factorisation alone.
    rounding
        Eigenvalues up to this many times `eps p` of the largest one count as 0.

    Returns
    -------
    x, unreached
        The solution of least norm, and the part of a that is outside the range of M, 0 where it is all inside.
    """
    x = _solve_by_cholesky(M, a, min_inverse_condition)
    if x is not None:
        return x, np.zeros_like(a)
    values, vectors = np.linalg.eigh(M)
    reached = values > rounding * np.finfo(float).eps * len(a) * values[-1]
    inside, outside = vectors[:, reached], vectors[:, ~reached]
    x = inside @ ((inside.T @ a) / values[reached])
    rest = outside @ (outside.T @ a)
    return x, np.where(np.abs(rest) > REACHED * np.abs(a).max(), rest, 0.0)


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
