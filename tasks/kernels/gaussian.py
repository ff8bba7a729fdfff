"""Families of Gaussian kernels with bandwidths that double.

Everything is computed and stored as `E = K - 1`: centering ignores the shift (Lemma 1 of the paper), and `E` keeps all
its digits where gamma is tiny and `K` itself would cancel.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers

# K = E + SHIFT. Sums of K itself follow from sums of E and this number.
SHIFT = 1.0
# K(x, x) is 1, so K_c(x, x) of the centered kernel, a squared distance to a mean of unit vectors, is at most 4.
LARGEST_CENTERED = 4.0
# Squared distances below this fraction of the squared norms are set to 0: they are rounding of the matrix product.
RESOLUTION = 4e-15
# Largest relative error that the matrix product may cause; columns that could cause more are subtracted directly.
MAX_LOSS = 1e-10
# Number of samples that tell the typical distance.
TYPICAL_SAMPLES = 512


def kernel_names(log2_gamma: Sequence[int]) -> list[str]:
    """Return the names of the kernels from the least to the greatest exponent, both included.

    >>> kernel_names([-1, 1])
    ['gaussian(2^-1)', 'gaussian(2^0)', 'gaussian(2^1)']
    """
    return [f"gaussian(2^{exponent})" for exponent in range(log2_gamma[0], log2_gamma[1] + 1)]


def largest_gamma(log2_gammas: Sequence[Sequence[int]]) -> float:
    """Return the largest gamma of several families.

    >>> largest_gamma([(-3, 1), (-2, 2)])
    4.0
    """
    return float(2.0 ** max(last for _, last in log2_gammas))


def direct_columns(features: Floats, gamma: float) -> Integers:
    """Find the columns whose differences have to be computed directly.

    One matrix product gives `|x|^2 + |z|^2 - 2 x.z` to an absolute error of `RESOLUTION (|x|^2 + |z|^2)`. That must be
    small beside `1 / gamma`, or else kernel values are wrong, and beside the distances of most samples, or else
    `E = K - 1` of wide kernels is. The columns with the largest entries are taken out until the others keep the
    relative error below `MAX_LOSS`.

    Parameters
    ----------
    features
        (m, d)
    gamma
        The largest gamma of the kernels.

    Returns
    -------
    indices
        In ascending order; empty where the matrix product is accurate enough.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centered = features - features.mean(axis=0)
        limit = MAX_LOSS / (2.0 * RESOLUTION) * min(1.0 / gamma, _typical_distance(features))
        if np.einsum("ij,ij->i", centered, centered).max() <= limit:
            return np.empty(0, dtype=np.int64)
        ascending = np.argsort(np.abs(centered).max(axis=0), kind="stable")
        norms, count = np.zeros(len(features)), 0
        for column in ascending:
            norms += centered[:, column] ** 2
            if not norms.max() <= limit:
                break
            count += 1
    return np.sort(ascending[count:]).astype(np.int64)


def _typical_distance(features: Floats) -> float:
    """Return the squared distance of a typical sample from the median of all, which a few large samples do not change.

    At most `TYPICAL_SAMPLES` samples are looked at, evenly spaced. Where half of them are equal, the mean serves.
    """
    some = features[:: -(-len(features) // TYPICAL_SAMPLES)]
    deviations = some - np.median(some, axis=0)
    squares = np.einsum("ij,ij->i", deviations, deviations)
    return float(np.median(squares)) or float(squares.mean()) or np.inf


def prepare_features(features: Floats, gamma: float) -> tuple[Floats, int]:
    """Arrange features for `squared_distances`.

    Columns for the matrix product are centered, which changes no distance and keeps their digits. Columns for direct
    differences stand last and are left as they are: centering would round them.

    Returns
    -------
    features, direct
        The features, and how many of their last columns are to be subtracted directly.
    """
    direct = direct_columns(features, gamma)
    prepared = features - features.mean(axis=0)
    if len(direct):
        rest = np.setdiff1d(np.arange(features.shape[1]), direct)
        prepared = prepared[:, np.concatenate([rest, direct])]
        prepared[:, len(rest) :] = features[:, direct]
    return prepared, len(direct)


def squared_distances(rows: Floats, columns: Floats, direct: int = 0) -> Floats:
    """Compute all squared Euclidean distances. They are exactly 0 between equal samples.

    Parameters
    ----------
    rows, columns
        (q, d) and (r, d)
    direct
        How many of the last features are subtracted directly; the others take one matrix product.
    """
    split = rows.shape[1] - direct
    x, z = rows[:, :split], columns[:, :split]
    norms = np.einsum("ij,ij->i", x, x)[:, None] + np.einsum("ij,ij->i", z, z)[None, :]
    distances = x @ z.T
    distances *= -2.0
    distances += norms
    norms *= RESOLUTION
    distances[distances < norms] = 0.0
    if rows is columns:
        np.fill_diagonal(distances, 0.0)
    if direct:
        from scipy.spatial.distance import cdist  # imported here: few sweeps need it

        distances += cdist(rows[:, split:], columns[:, split:], "sqeuclidean")
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


def families_of_kernels(
    log2_gammas: Sequence[Sequence[int]], direct: int, rows: Floats, columns: Floats, out: Floats
) -> None:
    """Write the shifted kernels of several families into `out`, (p, rows, columns), from one set of distances."""
    distances = squared_distances(rows, columns, direct)
    cuts = np.cumsum([0, *(hi - lo + 1 for lo, hi in log2_gammas)]).tolist()
    for log2_gamma, (start, stop) in zip(log2_gammas, pairwise(cuts), strict=True):
        shifted_kernels(distances, log2_gamma, out[start:stop])
