"""Families of Gaussian kernels with bandwidths that double.

Everything is computed as `E = K - 1`: centering ignores the shift (Lemma 1 of the paper), and `E` keeps all
its digits where gamma is tiny and `K` itself would cancel.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from tasks.arrays import Floats

# K = E + SHIFT; whoever needs sums of K itself gets them from sums of E and this number.
SHIFT = 1.0
# `K(x, x)` is 1, so that of the centered kernel, the squared distance to a mean of unit vectors, is at most this.
LARGEST_CENTERED = 4.0
# Squared distances below this part of the squared norms are rounding of the matrix product.
RESOLUTION = 4e-15


def kernel_names(log2_gamma: Sequence[int]) -> list[str]:
    """The kernels from the least to the greatest exponent, both included.

    >>> kernel_names([-1, 1])
    ['gaussian(2^-1)', 'gaussian(2^0)', 'gaussian(2^1)']
    """
    return [f"gaussian(2^{exponent})" for exponent in range(log2_gamma[0], log2_gamma[1] + 1)]


def squared_distances(rows: Floats, columns: Floats) -> Floats:
    """All squared Euclidean distances, by one matrix product. Exactly 0 between equal samples."""
    norms = np.einsum("ij,ij->i", rows, rows)[:, None] + np.einsum("ij,ij->i", columns, columns)[None, :]
    distances = rows @ columns.T
    distances *= -2.0
    distances += norms
    norms *= RESOLUTION
    distances[distances < norms] = 0.0
    if rows is columns:
        np.fill_diagonal(distances, 0.0)
    return distances


def shifted_kernels(distances: Floats, log2_gamma: Sequence[int], out: Floats) -> None:
    """Write `E_k = exp(-gamma_k d^2) - 1` for gamma = 2^lo .. 2^hi into `out`, (p, *distances.shape).

    One `expm1` serves the whole family, since `E_{2 gamma} = E_gamma (E_gamma + 2)`.
    """
    with np.errstate(over="ignore"):  # so narrow a kernel is 0 there
        np.multiply(distances, -(2.0 ** log2_gamma[0]), out=out[0])
    np.expm1(out[0], out=out[0])
    for narrower, wider in zip(out[1:], out[:-1], strict=True):
        np.add(wider, 2.0, out=narrower)
        narrower *= wider


def families_of_kernels(log2_gammas: Sequence[Sequence[int]], rows: Floats, columns: Floats, out: Floats) -> None:
    """Write the shifted kernels of several families into `out`, (p, rows, columns), from one set of distances."""
    distances = squared_distances(rows, columns)
    cuts = np.cumsum([0, *(hi - lo + 1 for lo, hi in log2_gammas)]).tolist()
    for log2_gamma, (start, stop) in zip(log2_gammas, pairwise(cuts), strict=True):
        shifted_kernels(distances, log2_gamma, out[start:stop])
