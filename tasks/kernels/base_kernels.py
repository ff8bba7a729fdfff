"""Define base kernels on a training set, centered and scaled to trace one there, as one-stage methods use them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.centering import center_on
from kernel_pipeline.tasks.kernels.distinct import DistinctKernels

Solver = Callable[[Floats], Floats]

# First ridge to try if rounding has made a matrix with unit diagonal indefinite.
INITIAL_RIDGE = 1e-15
# Iterative refinement stops after this number of steps, or at this residual relative to the right-hand side.
MAX_REFINEMENTS, REFINED_RESIDUAL = 3, 1e-13


class Images(Protocol):
    """The images `K_k alpha` of one vector alpha under p kernels."""

    @property
    def forms(self) -> Floats:
        """The quadratic forms `alpha' K_k alpha`, (p,)."""

    def sum(self, weights: Floats) -> Floats:
        """Return `sum_k weights_k K_k alpha`, (n,)."""

    def dot(self, vector: Floats) -> Floats:
        """Return `vector' K_k alpha`, (p,)."""

    def columns(self) -> Floats:
        """Return the images themselves, (n, p)."""


class BaseKernels(Protocol):
    """p kernels `K_k` over n training samples; `K_w` is `sum_k w_k K_k`."""

    @property
    def count(self) -> int:
        """Number of kernels, p."""

    @property
    def varies(self) -> Booleans:
        """Return which kernels are not constant on the training set, (p,)."""

    def only(self, chosen: Integers) -> Self:
        """Return the chosen kernels."""

    def distinct(self) -> DistinctKernels:
        """Return groups of equal kernels; an implementation need not find all of them."""

    def images(self, alpha: Floats) -> Images:
        """Return the images `K_k alpha` of all kernels."""

    def combined(self, weights: Floats) -> Floats:
        """Return `K_w`, (n, n)."""

    def products(self) -> Floats:
        """Return `M`, the products `<K_k, K_l>`, (p, p)."""

    def predict(self, weights: Floats, alpha: Floats) -> Floats:
        """Return `K_w alpha` of the held-out samples, (q,)."""

    def solver(self, diagonal: Floats | float, weights: Floats, squares: Floats, images: Images) -> Solver:
        """Return a solver of `(diagonal + K_weights + sum_k squares_k i_k i_k') x = b`, where `i_k` are the images.

        The right-hand side b may have several columns.
        """


@dataclass(frozen=True)
class GramImages:
    """Images under dense kernels."""

    matrix: Floats
    """(n, p)"""
    forms: Floats

    def sum(self, weights: Floats) -> Floats:
        """Return `sum_k weights_k K_k alpha`."""
        return np.asarray(self.matrix @ weights)

    def dot(self, vector: Floats) -> Floats:
        """Return `vector' K_k alpha`."""
        return np.asarray(vector @ self.matrix)

    def columns(self) -> Floats:
        """Return the images themselves."""
        return self.matrix


@dataclass(frozen=True)
class GramKernels:
    """Base kernels as dense Gram matrices."""

    train: Floats
    """(p, n, n)"""
    held_out: Floats
    """(p, q, n): held-out samples against training samples, centered with the means of the training samples."""
    varies: Booleans
    """(p,)"""

    @classmethod
    def of(cls, gram: Floats, trace: Floats, train: Integers, held_out: Integers) -> "GramKernels":
        """Center and scale Gram matrices, (p, m, m); `trace` holds the traces of the centered training parts."""
        parts = np.zeros((len(gram), len(train), len(train))), np.zeros((len(gram), len(held_out), len(train)))
        for k in np.flatnonzero(trace > 0):
            centered = center_on(gram[k], train)
            for part, samples in zip(parts, (train, held_out), strict=True):
                np.divide(centered[samples], trace[k], out=part[k])
        return cls(*parts, np.asarray(trace > 0))

    @property
    def count(self) -> int:
        """Number of kernels, p."""
        return len(self.train)

    def only(self, chosen: Integers) -> "GramKernels":
        """Return the chosen kernels."""
        if len(chosen) == self.count:
            return self  # the arrays may be large
        return GramKernels(self.train[chosen], self.held_out[chosen], self.varies[chosen])

    def distinct(self) -> DistinctKernels:
        """Return each kernel as a group of its own."""
        return DistinctKernels(np.arange(self.count), np.arange(self.count))

    def images(self, alpha: Floats) -> GramImages:
        """Return the images `K_k alpha` of all kernels."""
        matrix = np.ascontiguousarray((self.train @ alpha).T)
        # The forms of a positive semi-definite kernel are negative only because of rounding errors.
        rounding = np.finfo(float).eps * float(alpha @ alpha)
        return GramImages(matrix, np.maximum(alpha @ matrix, rounding))

    def combined(self, weights: Floats) -> Floats:
        """Return `K_w`."""
        return np.asarray(np.tensordot(weights, self.train, 1))

    def products(self) -> Floats:
        """Return `M`."""
        flat = self.train.reshape(self.count, -1)
        return np.asarray(flat @ flat.T)

    def predict(self, weights: Floats, alpha: Floats) -> Floats:
        """Return `K_w alpha` of the held-out samples."""
        return np.asarray(weights @ (self.held_out @ alpha))

    def solver(self, diagonal: Floats | float, weights: Floats, squares: Floats, images: Images) -> Solver:
        """Return a solver that uses one Cholesky factorisation."""
        columns = images.columns()
        matrix = self.combined(weights)
        matrix += (columns * squares) @ columns.T
        return dense_solver(matrix, diagonal)


def dense_solver(matrix: Floats, diagonal: Floats | float) -> Solver:
    """Return a solver of `(matrix + diagonal) x = b` by one Cholesky factorisation; the matrix is overwritten.

    Near the end of an interior-point method the entries differ by twenty orders of magnitude. The diagonal is therefore
    scaled to one, a matrix that rounding has made indefinite gets the smallest sufficient ridge, and solutions are
    refined.
    """
    matrix[np.diag_indices(len(matrix))] += diagonal
    scale = 1.0 / np.sqrt(np.diag(matrix))
    matrix *= scale[:, None]
    matrix *= scale
    factor, ridge = None, 0.0
    while factor is None:
        try:
            ridged = matrix + ridge * np.eye(len(matrix)) if ridge else matrix
            factor = scipy.linalg.cho_factor(ridged, check_finite=False)
        except np.linalg.LinAlgError:
            ridge = max(INITIAL_RIDGE, 10 * ridge)
            if ridge > 1.0:
                raise

    def solve_once(b: Floats) -> Floats:
        return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))

    def solve(b: Floats) -> Floats:
        x, _ = refined(solve_once, lambda x: matrix @ x, (b.T * scale).T)
        return np.asarray((x.T * scale).T)

    return solve


def refined(solve: Solver, multiply: Solver, b: Floats) -> tuple[Floats, float]:
    """Return a solution after iterative refinement, and the residual that was computed last, relative to b.

    Parameters
    ----------
    solve, multiply
        Functions that solve with the matrix approximately, and multiply by it.
    """
    x, size = solve(b), float(np.linalg.norm(b))
    for _ in range(MAX_REFINEMENTS):
        residual = b - multiply(x)
        norm = float(np.linalg.norm(residual))
        if not norm > REFINED_RESIDUAL * size:
            break
        x = x + solve(residual)
    return x, norm / size if size > 0 else 0.0
