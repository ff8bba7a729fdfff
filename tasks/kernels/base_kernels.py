"""Base kernels on a training set, as one-stage methods ask about them: centered and scaled to trace one there."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.centering import center_on
from kernel_pipeline.tasks.kernels.distinct import Distinct

Solver = Callable[[Floats], Floats]

# What is added to a unit diagonal that rounding has made indefinite, at first.
LEAST_RIDGE = 1e-15
REFINEMENTS, ACCURATE = 3, 1e-13


class Images(Protocol):
    """The images `K_k alpha` of one vector."""

    @property
    def forms(self) -> Floats:
        """(p,): `alpha' K_k alpha`."""

    def sum(self, weights: Floats) -> Floats:
        """(n,): `sum_k weights_k K_k alpha`."""

    def dot(self, vector: Floats) -> Floats:
        """(p,): `vector' K_k alpha`."""

    def columns(self) -> Floats:
        """(n, p): the images themselves."""


class BaseKernels(Protocol):
    """p kernels `K_k` over n training samples; `K_w` is `sum_k w_k K_k`."""

    @property
    def count(self) -> int:
        """p"""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant on the training set."""

    def only(self, chosen: Integers) -> Self:
        """Some of the kernels."""

    def distinct(self) -> Distinct:
        """The kernels that stand for all; equal ones may be found or not."""

    def images(self, alpha: Floats) -> Images:
        """`K_k alpha` of all kernels."""

    def combined(self, weights: Floats) -> Floats:
        """(n, n): `K_w`."""

    def products(self) -> Floats:
        """(p, p): `M`, the products `<K_k, K_l>`."""

    def predict(self, weights: Floats, alpha: Floats) -> Floats:
        """(q,): `K_w alpha` of the held-out samples."""

    def solver(self, diagonal: Floats | float, weights: Floats, squares: Floats, images: Images) -> Solver:
        """Solves `(diagonal + K_weights + sum_k squares_k i_k i_k') x = b`, `i_k` the images; b may have columns."""


@dataclass(frozen=True)
class GramImages:
    """Images under dense kernels."""

    matrix: Floats
    """(n, p)"""
    forms: Floats

    def sum(self, weights: Floats) -> Floats:
        """`sum_k weights_k K_k alpha`."""
        return np.asarray(self.matrix @ weights)

    def dot(self, vector: Floats) -> Floats:
        """`vector' K_k alpha`."""
        return np.asarray(vector @ self.matrix)

    def columns(self) -> Floats:
        """The images themselves."""
        return self.matrix


@dataclass(frozen=True)
class GramKernels:
    """Base kernels as dense Gram matrices."""

    train: Floats
    """(p, n, n)"""
    held_out: Floats
    """(p, q, n): held-out samples against the training samples, centered with the means of the latter."""
    varies: Booleans
    """(p,)"""

    @classmethod
    def of(cls, gram: Floats, trace: Floats, train: Integers, held_out: Integers) -> "GramKernels":
        """Center and scale Gram matrices over all samples, (p, m, m); `trace` is that of the centered training part."""
        parts = np.zeros((len(gram), len(train), len(train))), np.zeros((len(gram), len(held_out), len(train)))
        for k in np.flatnonzero(trace > 0):
            centered = center_on(gram[k], train)
            for part, samples in zip(parts, (train, held_out), strict=True):
                np.divide(centered[samples], trace[k], out=part[k])
        return cls(*parts, np.asarray(trace > 0))

    @property
    def count(self) -> int:
        """p"""
        return len(self.train)

    def only(self, chosen: Integers) -> "GramKernels":
        """Some of the kernels."""
        if len(chosen) == self.count:
            return self  # the arrays may be large
        return GramKernels(self.train[chosen], self.held_out[chosen], self.varies[chosen])

    def distinct(self) -> Distinct:
        """All of them."""
        return Distinct(np.arange(self.count), np.arange(self.count))

    def images(self, alpha: Floats) -> GramImages:
        """`K_k alpha` of all kernels."""
        matrix = np.ascontiguousarray((self.train @ alpha).T)
        # A kernel of trace one gives no less than that, but for rounding, which may be negative.
        rounding = np.finfo(float).eps * float(alpha @ alpha)
        return GramImages(matrix, np.maximum(alpha @ matrix, rounding))

    def combined(self, weights: Floats) -> Floats:
        """`K_w`."""
        return np.asarray(np.tensordot(weights, self.train, 1))

    def products(self) -> Floats:
        """`M`."""
        flat = self.train.reshape(self.count, -1)
        return np.asarray(flat @ flat.T)

    def predict(self, weights: Floats, alpha: Floats) -> Floats:
        """`K_w alpha` of the held-out samples."""
        return np.asarray(weights @ (self.held_out @ alpha))

    def solver(self, diagonal: Floats | float, weights: Floats, squares: Floats, images: Images) -> Solver:
        """By one Cholesky factorisation."""
        columns = images.columns()
        matrix = self.combined(weights)
        matrix += (columns * squares) @ columns.T
        return dense_solver(matrix, diagonal)


def dense_solver(matrix: Floats, diagonal: Floats | float) -> Solver:
    """Solves `(matrix + diagonal) x = b` by one Cholesky factorisation; the matrix is overwritten.

    Near the end of an interior-point method the entries differ by twenty orders of magnitude. So the diagonal is scaled
    to one, what rounding makes indefinite gets just enough of a ridge, and solutions are refined.
    """
    places = np.diag_indices(len(matrix))
    matrix[places] += diagonal
    scale = 1.0 / np.sqrt(np.diag(matrix))
    matrix *= scale[:, None]
    matrix *= scale
    factor, ridge = None, 0.0
    while factor is None:
        try:
            ridged = matrix + ridge * np.eye(len(matrix)) if ridge else matrix
            factor = scipy.linalg.cho_factor(ridged, check_finite=False)
        except np.linalg.LinAlgError:
            ridge = max(LEAST_RIDGE, 10 * ridge)
            if ridge > 1.0:
                raise

    def once(b: Floats) -> Floats:
        return np.asarray(scipy.linalg.cho_solve(factor, b, check_finite=False))

    def solve(b: Floats) -> Floats:
        x, _ = refined(once, lambda x: matrix @ x, (b.T * scale).T)
        return np.asarray((x.T * scale).T)

    return solve


def refined(solve: Solver, times: Solver, b: Floats) -> tuple[Floats, float]:
    """A solution, refined for the digits that `solve` loses, and what is left of b, relative to it."""
    x, size = solve(b), float(np.linalg.norm(b))
    for _ in range(REFINEMENTS):
        rest = b - times(x)
        left = float(np.linalg.norm(rest))
        if not left > ACCURATE * size:
            break
        x = x + solve(rest)
    return x, left / size if size > 0 else 0.0
