"""Estimate alignments from pairs of distinct samples, without the positive bias under independence (Lemma 19).

The empirical alignment contains the products `K(x, x) L(x, x)` of each sample with itself, so it is positive even if
kernel and labels are independent. The U-statistic of the inner product (Song, Smola, Gretton, Bedo and Borgwardt,
"Feature Selection via Dependence Maximization", JMLR 2012, equation 5) uses distinct samples only. It does not change
if a matrix is centered; written in terms of the centered matrices with diagonals c and d, it is

    <K, L> - n / (n - 2) c . d + tr K tr L / ((n - 1) (n - 2))

times 1 / (n (n - 3)), which cancels in an alignment. Debiased alignments are between -1 and 1.
"""

from typing import NamedTuple

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import center_labels, label_norm
from kernel_pipeline.tasks.statistics.permutations import UNKNOWN, null_level
from kernel_pipeline.tasks.statistics.statistics import Statistics

MIN_SAMPLES = 4
"""Smallest number of samples for which the U-statistic is defined."""
ROUNDING = 16 * float(np.finfo(float).eps)
"""A squared norm on n samples counts as 0 if it is at most this number times n times the biased squared norm."""


class Estimates(NamedTuple):
    """The centered alignment of a kernel with the labels, and its debiased estimate; NaN where it is not defined."""

    biased: float
    debiased: float
    null_mean: float = UNKNOWN.mean
    """Mean of the biased alignments with permuted labels; NaN without permutations."""
    null_quantile: float = UNKNOWN.quantile
    """95 % quantile of the biased alignments with permuted labels; NaN without permutations."""


UNDEFINED = Estimates(float("nan"), float("nan"))


def debiased_products(products: Floats, diagonals: Floats, traces: Floats, samples: int) -> Floats:
    """Return the U-statistics of inner products of centered matrices, times `n (n - 3)`; 0 for too few samples.

    Parameters
    ----------
    products, diagonals, traces
        Inner products of the matrices, inner products of their diagonals, and products of their traces.
    samples
        Number of samples n.
    """
    if samples < MIN_SAMPLES:
        return np.zeros_like(products)
    n = samples
    return np.asarray(products - n / (n - 2) * diagonals + traces / ((n - 1) * (n - 2)))


def debiased_squares(squares: Floats, diagonals: Floats, traces: Floats, samples: int) -> Floats:
    """Return `debiased_products` of matrices with themselves, which are squared norms; rounding errors become 0."""
    found = debiased_products(squares, diagonals, traces, samples)
    return np.where(found > ROUNDING * samples * squares, found, 0.0)


def debiased_alignments(
    products: Floats,
    squares: Floats,
    diagonal_products: Floats,
    label_squares: Floats,
    traces: Floats | float,
    squared_label_norm: float,
) -> Floats:
    """Return the debiased alignments of kernels with the labels; NaN where they are not defined.

    Parameters
    ----------
    products, squares
        `<K_k, Y Y'>` and `<K_k, K_k>` of the centered kernels, (p,).
    diagonal_products
        Inner products of the diagonal of each kernel with itself and with that of `Y Y'`, (2, p).
    label_squares
        Diagonal of `Y Y'` of the centered labels, (n,).
    traces
        Traces of the kernels, (p,) or one number.
    squared_label_norm
        `<Y Y', Y Y'>` of the centered labels.
    """
    n, label_trace = len(label_squares), label_squares.sum()
    label_part = debiased_squares(np.asarray(squared_label_norm), label_squares @ label_squares, label_trace**2, n)
    norms = np.sqrt(debiased_squares(squares, diagonal_products[0], np.square(traces), n) * label_part)
    debiased = debiased_products(products, diagonal_products[1], traces * label_trace, n)
    return np.divide(debiased, norms, out=np.full_like(norms, np.nan), where=norms > 0)


def alignment_estimates(
    product: float, norm: float, diagonal: Floats, deviations: Floats, permuted: Floats | None = None
) -> Estimates:
    """Return the biased and the debiased alignment of one kernel; neither the kernel nor the labels may be constant.

    Parameters
    ----------
    product, norm
        `<K, Y Y'>` and `||K||_F` of the centered kernel.
    diagonal
        Diagonal of the centered kernel, (n,).
    deviations
        Centered labels Y, (n, columns).
    permuted
        `<K, Y Y'>` for permutations of the labels, (N,); None if they are not known.
    """
    label_squares, norm_of_labels = label_diagonal(deviations), label_norm(deviations)
    debiased = debiased_alignments(
        products=np.array([product]),
        squares=np.array([norm**2]),
        diagonal_products=np.array([[diagonal @ diagonal], [diagonal @ label_squares]]),
        label_squares=label_squares,
        traces=float(diagonal.sum()),
        squared_label_norm=norm_of_labels**2,
    )
    level = UNKNOWN if permuted is None else null_level(permuted / (norm * norm_of_labels))
    return Estimates(product / (norm * norm_of_labels), float(debiased[0]), *level)


def debiased_statistics(biased: Statistics, diagonals: Floats, labels: Floats) -> Statistics:
    """Return the statistics whose alignments are the debiased ones.

    `M` and `a` are U-statistics. Both are 0 for a kernel whose debiased norm is 0; the norm of the labels is 0 if their
    debiased norm is 0.

    Parameters
    ----------
    biased
        Statistics of the kernels.
    diagonals
        Diagonals of the centered kernels, (p, n).
    labels
        Labels of the samples, (n, columns).
    """
    deviations, trace = center_labels(labels), biased.trace
    n, squares = len(labels), label_diagonal(deviations)
    pairs = diagonals @ diagonals.T
    M = debiased_products(biased.M, pairs, np.outer(trace, trace), n)
    a = debiased_products(biased.a, diagonals @ squares, trace * squares.sum(), n)
    norms = debiased_squares(np.diag(biased.M), np.diag(pairs), trace**2, n)
    M[norms == 0, :] = M[:, norms == 0] = 0.0
    a[norms == 0] = 0.0
    label_part = debiased_squares(
        np.asarray(label_norm(deviations) ** 2), squares @ squares, np.square(squares.sum()), n
    )
    return Statistics(M, a, trace, float(np.sqrt(label_part)))


def label_diagonal(deviations: Floats) -> Floats:
    """Return the diagonal of `Y Y'`, (n,), given the centered labels, (n, columns)."""
    return np.asarray((deviations**2).sum(axis=1))
