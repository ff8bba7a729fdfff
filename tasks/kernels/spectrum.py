"""Compute extreme eigenvalues, to check whether a kernel matrix is positive semi-definite."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Floats

# The iteration stops when the extreme eigenvalues have this error, relative to the largest, or after this many steps.
LANCZOS_TOLERANCE = 1e-8
MAX_LANCZOS_STEPS = 60


@dataclass(frozen=True)
class Spectrum:
    """Extreme eigenvalues of a symmetric matrix."""

    smallest: float
    largest: float
    negative: int | None = None
    """Number of negative eigenvalues; None if not all eigenvalues are known."""
    negative_share: float | None = None
    """Sum of the absolute values of the negative eigenvalues, divided by that of all eigenvalues."""

    def is_semidefinite(self, tolerance: float) -> bool:
        """Return whether the smallest eigenvalue is at least `-tolerance` times the largest one."""
        return self.smallest >= -tolerance * max(self.largest, 0.0)


def is_positive_definite(matrix: Floats, ridge: float) -> bool:
    """Return whether `matrix + ridge I` is positive definite; the matrix is overwritten.

    This attempts a Cholesky factorisation, which is much faster than computing eigenvalues.
    """
    matrix[np.diag_indices(len(matrix))] += ridge
    try:
        scipy.linalg.cholesky(matrix.T, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return False
    return True


def dense_spectrum(matrix: Floats) -> Spectrum:
    """Return the exact spectrum of a symmetric matrix, which is overwritten."""
    values = scipy.linalg.eigvalsh(matrix.T, overwrite_a=True, check_finite=False)
    negative = values[values < 0]
    total = float(np.abs(values).sum())
    return Spectrum(
        smallest=float(values[0]),
        largest=float(values[-1]),
        negative=len(negative),
        negative_share=float(-negative.sum() / total) if total > 0 else 0.0,
    )


def lanczos_spectrum(multiply: Callable[[Floats], Floats], size: int) -> Spectrum:
    """Estimate the extreme eigenvalues of a symmetric matrix from its products with vectors.

    The Lanczos iteration starts from a random vector with a fixed seed and uses complete reorthogonalisation. Up to
    rounding, the estimate of the smallest eigenvalue is never below its true value, so a negative estimate proves that
    the matrix is indefinite.

    Parameters
    ----------
    multiply
        Function that returns the product of the matrix and a vector.
    size
        Number of rows of the matrix.
    """
    steps = min(size, MAX_LANCZOS_STEPS)
    basis = np.zeros((steps, size))
    diagonal, off_diagonal = np.zeros(steps), np.zeros(steps)
    vector = np.random.default_rng(0).standard_normal(size)
    vector /= np.linalg.norm(vector)
    for step in range(steps):
        basis[step] = vector
        image = multiply(vector)
        diagonal[step] = vector @ image
        for _ in range(2):  # two passes make the basis orthogonal up to rounding
            image -= basis[: step + 1].T @ (basis[: step + 1] @ image)
        off_diagonal[step] = np.linalg.norm(image)
        values, vectors = scipy.linalg.eigh_tridiagonal(diagonal[: step + 1], off_diagonal[:step])
        scale = max(abs(values[0]), abs(values[-1]))
        residuals = off_diagonal[step] * np.abs(vectors[-1, [0, -1]])
        if off_diagonal[step] <= np.finfo(float).eps * scale or residuals.max() <= LANCZOS_TOLERANCE * scale:
            break
        vector = image / off_diagonal[step]
    return Spectrum(smallest=float(values[0]), largest=float(values[-1]))


def clip_eigenvalues(matrix: Floats) -> Floats:
    """Return the positive part of a symmetric matrix, whose negative eigenvalues are replaced by 0.

    >>> clip_eigenvalues(np.array([[0.0, 1.0], [1.0, 0.0]])).round(12).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """
    values, vectors = scipy.linalg.eigh(matrix, check_finite=False)
    kept = vectors[:, values > 0] * np.sqrt(values[values > 0])
    return np.asarray(kept @ kept.T)
