"""The solution of least norm of a symmetric system that may be singular."""

import numpy as np
import scipy.linalg
from scipy.linalg import lapack

from kernel_pipeline.tasks.arrays import Floats, require_finite

# A worse conditioned matrix is treated as singular, and directions below its rounding are left out.
WELL_CONDITIONED = 1e-10
# Rounding of M, which is a difference of sums, in units of eps: with kernels that are nearly equal, the solution in a
# direction below it would be noise times a large number.
ROUNDING = 64


def minimum_norm_solution(M: Floats, a: Floats) -> tuple[Floats, float]:
    """`M^-1 a`, of least norm where M is singular, for a symmetric positive semi-definite M.

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
    # a kernel without variance gets exactly 0, not what rounding leaves of it
    if len(alive := np.flatnonzero(np.diag(M) > 0)):
        v[alive] = _least_norm(M[np.ix_(alive, alive)], a[alive])
    return v, float(np.abs(M @ v - a).max() / scale)


def _least_norm(M: Floats, a: Floats) -> Floats:
    v = _by_cholesky(M, a)
    if v is None:
        values, vectors = np.linalg.eigh(M)
        reached = values > ROUNDING * np.finfo(float).eps * len(a) * values[-1]
        v = vectors[:, reached] @ ((vectors[:, reached].T @ a) / values[reached])
    return v


def _by_cholesky(M: Floats, a: Floats) -> Floats | None:
    """None if M is singular or close to it."""
    try:
        factor, lower = scipy.linalg.cho_factor(M)
    except np.linalg.LinAlgError:
        return None
    inverse_condition, _ = lapack.dpocon(factor, np.abs(M).sum(axis=0).max(), uplo="L" if lower else "U")
    if inverse_condition < WELL_CONDITIONED:
        return None
    v = scipy.linalg.cho_solve((factor, lower), a)
    return np.asarray(v + scipy.linalg.cho_solve((factor, lower), a - M @ v))
