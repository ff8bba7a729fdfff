"""Compute with rank-one kernels `K_k = v_k v_k'` of feature columns, without forming them.

With columns centered on the training set and scaled to unit norm, so that each kernel has trace one,

    a_k = (v_k . yc)^2        M_kl = (v_k . v_l)^2        K_mu = V diag(mu) V'

Columns stay sparse: `v_k = x_k - c_k 1` is stored as the scaled column `x_k` and the number `c_k`. In products with a
centered vector or matrix, `c_k` cancels.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, cg

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.kernels.base_kernels import Images, Solver, dense_solver, refined
from kernel_pipeline.tasks.kernels.distinct import DistinctKernels, distinct_columns

# A column does not vary if its centered sum of squares is at most this fraction of the uncentered one.
CONSTANT_COLUMN_TOLERANCE = 1e-13
# Quadratic forms of columns with at most this many entries are computed pair by pair, the others by a matrix product.
FEW_ENTRIES = 32
# Size of one block of that matrix product.
PRODUCT_BYTES = 64 << 20
# A dense product is faster if more than this fraction of the entries is not zero.
DENSE_FRACTION = 0.1
# Relative accuracy of conjugate gradients, for the steps of an outer method that checks its result.
ITERATIVE_ACCURACY = 1e-3
# Largest residual of a solution, relative to the right-hand side.
MAX_RESIDUAL = 1e-9
# Largest number of samples for which a matrix of all pairs of samples is formed although there are fewer columns.
MAX_DENSE = 5_000

Columns = scipy.sparse.csc_array | scipy.sparse.csr_array


@dataclass(frozen=True)
class RankOneKernels:
    """p rank-one kernels on a training set of n samples; see `BaseKernels` in `base_kernels`."""

    columns: scipy.sparse.csc_array
    """(n, p): the columns, scaled to norm one after centering; 0 for a constant column."""
    means: Floats
    """(p,): the mean of each scaled column."""
    trace: Floats
    """(p,): the trace of each centered kernel before scaling; 0 for a constant one."""
    held_out: scipy.sparse.csc_array
    """(q, p): the columns of other samples, with the same scaling."""

    @classmethod
    def of(cls, counts: scipy.sparse.csr_array, held_out: scipy.sparse.csr_array | None = None) -> "RankOneKernels":
        """Return the kernels of the columns of `counts`, (n, p)."""
        n = counts.shape[0]
        columns = scipy.sparse.csc_array(counts, dtype=np.float64)
        means = np.asarray(columns.sum(axis=0)) / n
        squares: Floats = np.asarray(columns.multiply(columns).sum(axis=0))
        stored = np.diff(columns.indptr)
        deviations = columns.copy()
        deviations.data = (columns.data - np.repeat(means, stored)) ** 2
        trace = np.asarray(deviations.sum(axis=0)) + (n - stored) * means**2  # a sum of squares, so nothing cancels
        trace[trace <= CONSTANT_COLUMN_TOLERANCE * squares] = 0.0
        inverse = np.divide(1.0, np.sqrt(trace), out=np.zeros_like(trace), where=trace > 0)
        scale = scipy.sparse.diags_array(inverse)
        others = counts[:0] if held_out is None else held_out
        return cls((columns @ scale).tocsc(), means * inverse, trace, (others @ scale).tocsc())

    def on_samples(self, counts: scipy.sparse.csr_array, held_out: scipy.sparse.csr_array) -> "RankOneKernels":
        """Return the kernels of the same columns on other samples, with the same scaling, but centered on `counts`.

        Parameters
        ----------
        counts, held_out
            The columns of the training samples and of the held-out samples, (n, p) and (q, p).
        """
        inverse = np.divide(1.0, np.sqrt(self.trace), out=np.zeros_like(self.trace), where=self.trace > 0)
        scale = scipy.sparse.diags_array(inverse)
        means = np.asarray(counts.sum(axis=0)) / counts.shape[0] * inverse
        return RankOneKernels((counts @ scale).tocsc(), means, self.trace, (held_out @ scale).tocsc())

    @property
    def count(self) -> int:
        """Number of kernels, p."""
        return len(self.trace)

    @property
    def varies(self) -> Booleans:
        """Return which kernels are not constant, (p,)."""
        return np.asarray(self.trace > 0)

    def only(self, chosen: Integers) -> "RankOneKernels":
        """Return the chosen kernels."""
        return RankOneKernels(self.columns[:, chosen], self.means[chosen], self.trace[chosen], self.held_out[:, chosen])

    def distinct(self) -> DistinctKernels:
        """Return groups of equal kernels."""
        return distinct_columns(self.columns)

    def projections(self, alpha: Floats) -> Floats:
        """Return `v_k . alpha`, (p,)."""
        return np.asarray(self.columns.T @ alpha - self.means * alpha.sum())

    def expand(self, parts: Floats) -> Floats:
        """Return `sum_k parts_k v_k`, (n,)."""
        return np.asarray(self.columns @ parts - self.means @ parts)

    def images(self, alpha: Floats) -> "RankOneImages":
        """Return the images `K_k alpha` of all kernels."""
        return RankOneImages(self, self.projections(alpha))

    def combined(self, weights: Floats) -> Floats:
        """Return `K_w`, (n, n)."""
        kernel = weighted_gram(self.columns, weights)
        kernel -= kernel.mean(axis=0)[None, :]
        kernel -= kernel.mean(axis=1)[:, None]
        return np.asarray(kernel)

    def largest_diagonals(self) -> Floats:
        """Return the maximum of `K_k(x, x)` over the training samples, (p,)."""
        largest, smallest = (
            np.asarray(extreme(axis=0).toarray()).ravel() for extreme in (self.columns.max, self.columns.min)
        )
        return np.asarray(np.maximum(largest - self.means, self.means - smallest) ** 2)

    def diagonal_products(self, others: Floats) -> Floats:
        """Return the products of the diagonal of each kernel with itself and with `others`, (n,), as (2, p)."""
        columns, stored = self.columns, np.diff(self.columns.indptr)
        squares, at = columns.copy(), np.asarray(others)[columns.indices]
        squares.data = (columns.data - np.repeat(self.means, stored)) ** 2
        own, mixed, rest = squares.copy(), squares.copy(), columns.copy()
        own.data, mixed.data, rest.data = squares.data**2, squares.data * at, at
        absent = self.means**2  # the entries that are not stored
        return np.stack(
            [
                np.asarray(own.sum(axis=0)) + (columns.shape[0] - stored) * absent**2,
                np.asarray(mixed.sum(axis=0)) + (others.sum() - np.asarray(rest.sum(axis=0))) * absent,
            ]
        )

    def predict(self, weights: Floats, alpha: Floats) -> Floats:
        """Return `K_w alpha` of the held-out samples."""
        parts = weights * self.projections(alpha)
        return np.asarray(self.held_out @ parts - self.means @ parts)

    def products(self) -> Floats:
        """Return `M`."""
        inner = (self.columns.T @ self.columns).toarray()
        inner -= self.columns.shape[0] * np.outer(self.means, self.means)
        inner *= inner
        return np.asarray(inner)

    def multiplication_by_m(self) -> Callable[[Floats], Floats]:
        """Return a function that computes `M v`, from the smaller of M, (p, p), and `K_v`, (n, n)."""
        if self.count < self.columns.shape[0]:
            products = self.products()
            return lambda weights: products @ weights
        return lambda weights: self.quadratic_forms(self.combined(weights))

    def solver(self, diagonal: Floats | float, weights: Floats, squares: Floats, images: Images) -> Solver:
        """Return a solver by Woodbury's formula if there are fewer kernels than samples.

        Otherwise, it uses conjugate gradients for a constant diagonal, and a dense factorisation for others.

        `(K_k alpha)(K_k alpha)'` is `(v_k . alpha)^2 K_k`, so the matrix is a combined kernel with different weights.
        """
        total = weights + squares * images.forms
        if self.count < self.columns.shape[0]:
            return self._by_columns(diagonal, total)
        if np.ndim(diagonal) == 0:
            return self._by_conjugate_gradients(float(diagonal), total)
        return dense_solver(self.combined(total), diagonal)

    def _by_columns(self, diagonal: Floats | float, weights: Floats) -> Solver:
        """Return a solver that uses Woodbury's formula, or a dense solver if the residual is too large.

        Residuals become large near the end of an interior-point method, when the diagonal covers many orders of
        magnitude. With more than `MAX_DENSE` samples, the solver then raises a `LinAlgError`.
        """
        root = 1.0 / np.sqrt(np.broadcast_to(diagonal, self.columns.shape[:1]))
        scaled = scipy.sparse.diags_array(root) @ self.columns @ scipy.sparse.diags_array(np.sqrt(weights))
        means = self.means * np.sqrt(weights)
        small = (scaled.T @ scaled).toarray()
        cross = np.outer(scaled.T @ root, means)
        small += np.outer(means, means) * float(root @ root) - cross - cross.T
        solve_small = dense_solver(small, 1.0)
        dense: list[Solver] = []

        def down(x: Floats) -> Floats:
            return np.asarray(scaled.T @ x - np.multiply.outer(means, root @ x))

        def up(x: Floats) -> Floats:
            return np.asarray(scaled @ x - np.multiply.outer(root, means @ x))

        def solve(b: Floats) -> Floats:
            if not dense:
                x, residual = refined(lambda r: r - up(solve_small(down(r))), lambda x: x + up(down(x)), (b.T * root).T)
                if residual <= MAX_RESIDUAL:
                    return np.asarray((x.T * root).T)
                if len(root) > MAX_DENSE:
                    raise np.linalg.LinAlgError(f"the residual of Woodbury's formula is {residual:.1e}")
                dense.append(dense_solver(self.combined(weights), diagonal))
            return dense[0](b)

        return solve

    def _by_conjugate_gradients(self, ridge: float, weights: Floats) -> Solver:
        n = self.columns.shape[0]

        def multiply(x: Floats) -> Floats:
            return ridge * x + self.expand(weights * self.projections(x))

        matrix = LinearOperator((n, n), matvec=multiply, dtype=np.float64)
        return lambda b: np.column_stack(
            [cg(matrix, column, rtol=ITERATIVE_ACCURACY, maxiter=n)[0] for column in np.atleast_2d(b.T)]
        ).reshape(b.shape)

    def quadratic_forms(self, kernel: Floats) -> Floats:
        """Return `v_k' K v_k` of all kernels for a centered K; with `K = combined(v)` this is `M v`."""
        entries = np.diff(self.columns.indptr)
        forms = np.empty(self.count)
        few = np.flatnonzero(entries <= FEW_ENTRIES)
        forms[few] = self._pair_by_pair(kernel, few, entries)
        many = np.flatnonzero(entries > FEW_ENTRIES)
        step = max(1, PRODUCT_BYTES // (8 * kernel.shape[0]))
        for start in range(0, len(many), step):
            part = self.columns[:, many[start : start + step]]
            forms[many[start : start + step]] = np.asarray(part.multiply(kernel @ part).sum(axis=0))
        return forms

    def _pair_by_pair(self, kernel: Floats, few: Integers, entries: Integers) -> Floats:
        """Return the quadratic forms of short columns; columns of the same length form one small dense array."""
        forms = np.zeros(len(few))
        for length in np.unique(entries[few]):
            same = np.flatnonzero(entries[few] == length)
            places = self.columns.indptr[few[same]][:, None] + np.arange(length)
            rows, values = self.columns.indices[places], self.columns.data[places]
            for i in range(length):
                for j in range(i, length):
                    pair = values[:, i] * values[:, j] * kernel[rows[:, i], rows[:, j]]
                    forms[same] += pair if i == j else 2.0 * pair
        return forms


@dataclass(frozen=True)
class RankOneImages:
    """The images `K_k alpha = (v_k . alpha) v_k`, stored as the numbers `v_k . alpha`."""

    kernels: RankOneKernels
    projections: Floats

    @property
    def forms(self) -> Floats:
        """The quadratic forms `alpha' K_k alpha`; if alpha are the centered labels, these are the `a_k`."""
        return self.projections**2

    def sum(self, weights: Floats) -> Floats:
        """Return `sum_k weights_k K_k alpha`."""
        return self.kernels.expand(weights * self.projections)

    def dot(self, vector: Floats) -> Floats:
        """Return `vector' K_k alpha`."""
        return self.projections * self.kernels.projections(vector)

    def columns(self) -> Floats:
        """Return the images themselves, dense."""
        return np.asarray((self.kernels.columns.toarray() - self.kernels.means) * self.projections)


def weighted_gram(columns: Columns, weights: Floats) -> Floats:
    """Return `X diag(weights) X'` as a dense matrix."""
    used = np.flatnonzero(weights)
    part = columns[:, used]
    if part.nnz > DENSE_FRACTION * part.shape[0] * part.shape[1]:
        dense = part.toarray()
        return np.asarray((dense * weights[used]) @ dense.T)
    return np.asarray(((part @ scipy.sparse.diags_array(weights[used])) @ part.T).toarray())
