"""Compute accurate squared Euclidean distances, at the speed of one matrix product."""

from collections.abc import Callable

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers

# Squared distances below this fraction of the squared norms are set to 0, since they are only rounding errors.
RESOLUTION = 4e-15
# Largest relative error that the matrix product may cause. The differences of columns that could cause more are
# computed directly.
MAX_LOSS = 1e-10
# Maximum number of samples from which the typical squared distance is estimated.
TYPICAL_SAMPLES = 512
# Up to this number of columns, computing differences is as fast as the matrix product.
MAX_DIRECT_COLUMNS = 16
# `accurate_squared_distances` recomputes those below CLOSE_FRACTION of the squared norms from differences. If these are
# more than MAX_CLOSE_SHARE of the entries of a block, the whole block is recomputed.
CLOSE_FRACTION, MAX_CLOSE_SHARE = 1e-3, 0.02


def direct_columns(features: Floats, gamma: float) -> Integers:
    """Find the columns whose differences have to be computed directly.

    One matrix product gives `|x|^2 + |z|^2 - 2 x.z` to an absolute error of `RESOLUTION (|x|^2 + |z|^2)`. This must
    be small compared with `1 / gamma`, or kernel values would be wrong, and compared with the distances of most
    samples, or `E = K - 1` of wide kernels would be wrong. The columns with the largest entries are left out of the
    product until the relative error of the others is below `MAX_LOSS`.

    Parameters
    ----------
    features
        (m, d)
    gamma
        Largest factor by which a kernel multiplies squared distances.

    Returns
    -------
    indices
        Indices of the columns in ascending order; empty if the matrix product is accurate enough.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centered = features - features.mean(axis=0)
        limit = MAX_LOSS / (2.0 * RESOLUTION) * min(1.0 / gamma, _typical_squared_distance(features))
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


def _typical_squared_distance(features: Floats) -> float:
    """Return the squared distance of a typical sample from the median, which is robust to a few large samples.

    At most `TYPICAL_SAMPLES` evenly spaced samples are used. If half of them are equal, the mean is returned.
    """
    some = features[:: -(-len(features) // TYPICAL_SAMPLES)]
    deviations = some - np.median(some, axis=0)
    squares = np.einsum("ij,ij->i", deviations, deviations)
    return float(np.median(squares)) or float(squares.mean()) or np.inf


def prepare_features(features: Floats, gamma: float) -> tuple[Floats, int]:
    """Arrange features for `squared_distances`.

    Columns for the matrix product are centered, which does not change distances and preserves precision. Columns for
    direct differences are moved to the end and are not centered, since centering would round them.

    Returns
    -------
    features, direct
        The features, and the number of trailing columns whose differences are computed directly.
    """
    direct = direct_columns(features, gamma)
    prepared = features - features.mean(axis=0)
    if len(direct):
        rest = np.setdiff1d(np.arange(features.shape[1]), direct)
        prepared = prepared[:, np.concatenate([rest, direct])]
        prepared[:, len(rest) :] = features[:, direct]
    return prepared, len(direct)


def squared_distances(rows: Floats, columns: Floats, direct: int = 0) -> Floats:
    """Compute all squared Euclidean distances; they are exactly 0 between equal samples.

    Parameters
    ----------
    rows, columns
        (q, d) and (r, d); the same array for the distances within one set of samples.
    direct
        Number of trailing features whose differences are computed directly; a matrix product covers the others.
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
        from scipy.spatial.distance import cdist  # imported here, since few sweeps need it

        distances += cdist(rows[:, split:], columns[:, split:], "sqeuclidean")
    return distances


def accurate_squared_distances(features: Floats) -> Callable[[slice, slice], Floats]:
    """Return a function that computes blocks of squared distances, each with a relative error of about 1e-12.

    Kernels that depend on distances themselves, such as `exp(-||x - z||)`, need this: if samples are close, a small
    absolute error of a squared distance becomes a large error of its square root. A matrix product loses precision only
    if a distance is small compared with the norms, so only such distances are recomputed from differences.
    """
    from scipy.spatial.distance import cdist  # imported here, since few sweeps need it

    if features.shape[1] <= MAX_DIRECT_COLUMNS:
        return lambda rows, columns: cdist(features[rows], features[columns], "sqeuclidean")
    centered = features - features.mean(axis=0)
    norms = np.einsum("ij,ij->i", centered, centered)

    def block(rows: slice, columns: slice) -> Floats:
        x = centered[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            distances = squared_distances(x, x if rows == columns else centered[columns])
        far = distances >= CLOSE_FRACTION * (norms[rows, None] + norms[columns])  # False also where squares overflow
        if rows == columns:
            np.fill_diagonal(far, True)
        first, second = np.nonzero(~far)
        if len(first) > MAX_CLOSE_SHARE * distances.size:
            return np.asarray(cdist(features[rows], features[columns], "sqeuclidean"))
        differences = features[rows][first] - features[columns][second]
        distances[first, second] = np.einsum("ij,ij->i", differences, differences)
        return distances

    return block
