"""Rank-one kernels `K_k = v_k v_k'` of feature columns, never formed.

With columns centered on the training set and scaled to unit norm, which is trace one,

    a_k = (v_k . yc)^2        M_kl = (v_k . v_l)^2        K_mu = V diag(mu) V'

Columns stay sparse: `v_k = x_k - c_k 1` is kept as the scaled column `x_k` and the number `c_k`. What is multiplied
with a centered vector or matrix needs no `c_k` at all.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse

from tasks.arrays import Booleans, Floats, Integers
from tasks.column_generation import solve_by_columns

# A column whose centered sum of squares is this small beside the uncentered one does not vary.
CONSTANT = 1e-13
# Columns with at most so many entries are priced pair by pair, the others by a matrix product.
FEW_ENTRIES = 32
# Rows of the dense product that prices the other columns, at a time.
PRODUCT_BYTES = 64 << 20


@dataclass(frozen=True)
class RankOneKernels:
    """p rank-one kernels on a training set of n samples."""

    columns: scipy.sparse.csc_array
    """(n, p): the columns, scaled so that they have norm one once centered; 0 for a constant one."""
    means: Floats
    """(p,): the mean of each scaled column."""
    trace: Floats
    """(p,): of each centered kernel before scaling; 0 for a constant one."""

    @classmethod
    def of(cls, counts: scipy.sparse.csr_array) -> "RankOneKernels":
        """The kernels of the columns of `counts`, (n, p)."""
        n = counts.shape[0]
        columns = scipy.sparse.csc_array(counts, dtype=np.float64)
        means = np.asarray(columns.sum(axis=0)) / n
        squares: Floats = np.asarray(columns.multiply(columns).sum(axis=0))
        trace = squares - n * means**2
        trace[trace <= CONSTANT * squares] = 0.0
        inverse = np.divide(1.0, np.sqrt(trace), out=np.zeros_like(trace), where=trace > 0)
        return cls((columns @ scipy.sparse.diags_array(inverse)).tocsc(), means * inverse, trace)

    def only(self, chosen: Integers) -> "RankOneKernels":
        """Some of the kernels."""
        return RankOneKernels(self.columns[:, chosen], self.means[chosen], self.trace[chosen])

    @property
    def count(self) -> int:
        """The number of kernels."""
        return len(self.trace)

    def label_products(self, centered_labels: Floats) -> Floats:
        """`a_k` of all kernels."""
        return np.asarray(self.columns.T @ centered_labels) ** 2

    def products(self, chosen: Integers) -> Floats:
        """`M` of some kernels."""
        part = self.columns[:, chosen]
        inner = (part.T @ part).toarray()
        inner -= self.columns.shape[0] * np.outer(self.means[chosen], self.means[chosen])
        inner *= inner
        return np.asarray(inner)

    def combined(self, chosen: Integers, weights: Floats) -> Floats:
        """The centered kernel `sum_k weights_k v_k v_k'` of some kernels, (n, n)."""
        root = self.columns[:, chosen] @ scipy.sparse.diags_array(np.sqrt(weights))
        kernel = (root @ root.T).toarray()
        kernel -= kernel.mean(axis=0)[None, :]
        kernel -= kernel.mean(axis=1)[:, None]
        return np.asarray(kernel)

    def quadratic_forms(self, kernel: Floats) -> Floats:
        """`v_k' K v_k` of all kernels for a centered K: with `K = combined(S, v)` this is `M[:, S] v`."""
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
        """The quadratic forms of short columns: the columns of each length are one small dense array."""
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


def distinct_columns(columns: scipy.sparse.csc_array) -> Integers:
    """For each column the number of the first one that is equal to it, up to rounding.

    Two words that only ever occur together, or once in the same document, are one kernel; kept apart they would
    make M singular.
    """
    first: dict[bytes, int] = {}
    indptr, indices = columns.indptr, columns.indices
    rounded = np.round(columns.data, 12)
    return np.array(
        [
            first.setdefault(indices[s:e].tobytes() + rounded[s:e].tobytes(), k)
            for k, (s, e) in enumerate(pairwise(indptr))
        ],
        dtype=np.int64,
    )


@dataclass(frozen=True)
class RankOneEvidence:
    """What the rules for weights ask about rank-one kernels; see `tasks.weights.Evidence`."""

    kernels: RankOneKernels
    centered_labels: Floats
    """(n,)"""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""
        return np.asarray(self.kernels.trace > 0)

    def own_alignments(self) -> Floats:
        """`a_k / ||yc yc'||`, since each kernel has norm one."""
        norm = float(self.centered_labels @ self.centered_labels)
        products = self.kernels.label_products(self.centered_labels)
        return products / norm if norm > 0 else np.zeros_like(products)

    def largest_alignment(self) -> tuple[Floats, float]:
        """By column generation over distinct columns; equal ones share their weight."""
        first = distinct_columns(self.kernels.columns)
        chosen, group = np.unique(first, return_inverse=True)
        distinct = self.kernels.only(chosen)
        v, residual = solve_by_columns(
            distinct.label_products(self.centered_labels),
            distinct.products,
            lambda support, weights: distinct.quadratic_forms(distinct.combined(support, weights)),
        )
        shares = v / np.bincount(group)
        return np.where(self.varies, shares[group], 0.0), residual
