"""Compute duality gaps and intercepts of support vector machines from the products of kernel and coefficients.

The problem is `min_{f, b} ||f||^2 / 2 + sum_i C_i max(0, 1 - y_i (f(x_i) + b))`. Its dual is
`max_alpha sum_i alpha_i - alpha'Y K Y alpha / 2` such that `0 <= alpha_i <= C_i` and `alpha'y = 0`.
"""

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.errors import NotSolvedError

# Largest relative duality gap of a fit that can be selected.
MAX_GAP = 1e-3
# A gap below minus this value is not due to rounding: the kernel is indefinite.
ROUNDING = 1e-9
# Slopes of the sum of losses count as zero up to this fraction of the sum of the bounds.
FLAT_SLOPE = 1e-9


def require_certified(gaps: Floats) -> None:
    """Raise a `NotSolvedError` if the relative duality gap of every value of C is above `MAX_GAP`, or NaN."""
    if not (gaps <= MAX_GAP).any():
        raise NotSolvedError(
            f"the relative duality gap of every C is above {MAX_GAP:g}; decrease 'to' in [fit] svm, or check that the "
            "kernel is positive semi-definite"
        )


def relative_duality_gap(images: Floats, labels: Floats, alpha: Floats, bounds: Floats) -> Floats:
    """Return the relative duality gap of the best multiple of a classifier, with the best intercept.

    All multiples of a classifier predict the same classes. If `C` is large, a margin that is too small by the tolerance
    of a solver, such as 0.999, makes the gap of the classifier itself arbitrarily large.

    Parameters
    ----------
    images
        Values `f(x_i) = sum_j alpha_j y_j K(x_i, x_j)` of the training samples, (..., n): one row per classifier.
        Rows may be padded with samples whose bound is 0.
    labels
        Labels -1 and +1, (..., n).
    alpha, bounds
        Solution of the dual problem, (..., n), and the bounds `C_i` of its variables, (..., n).

    Returns
    -------
    (...)
        NaN if the kernel is found to be indefinite, since the gap then certifies nothing.
    """
    total, square = alpha.sum(axis=-1), np.vecdot(alpha * labels, images)
    # For other multiples, the middle of the interval that the optimality conditions allow may be a better intercept.
    kinks, (up, down) = labels - images, movable(labels, alpha, bounds)
    highest, lowest = kinks.max(axis=-1, where=up, initial=-np.inf), kinks.min(axis=-1, where=down, initial=np.inf)
    shifts = (best_intercept(images, labels, bounds), (highest + lowest) / 2)
    upper = np.minimum(
        *(_primal_value(labels * (images + shift[..., None]), bounds, square) for shift in shifts),
    )
    gap = (upper - _dual_value(total, square, alpha, bounds)) / upper
    is_indefinite = (square < -ROUNDING * total) | (gap < -ROUNDING)
    return np.where(is_indefinite, np.nan, np.maximum(0.0, gap))


def _primal_value(margins: Floats, bounds: Floats, square: Floats) -> Floats:
    """Return the primal objective of a classifier or of its best multiple, whichever is smaller."""

    def value(factor: Floats) -> Floats:
        losses: Floats = np.vecdot(bounds, np.maximum(0.0, 1.0 - factor[..., None] * margins))
        return factor**2 * square / 2 + losses

    return np.minimum(value(np.ones_like(square)), value(best_multiple(margins, bounds, square)))


def _dual_value(total: Floats, square: Floats, alpha: Floats, bounds: Floats) -> Floats:
    """Return the dual objective of the best feasible multiple of `alpha`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.where(alpha > 0.0, bounds / alpha, np.inf)
        factor = np.minimum(total / square, ratios.min(axis=-1))
    found: Floats = np.where(square > 0.0, factor * total - factor**2 * square / 2, total)
    return found


def best_intercept(values: Floats, labels: Floats, bounds: Floats) -> Floats:
    """Return the intercept that minimises the weighted sum of hinge losses, by sorting their kinks.

    If no support vector is free, the sum is constant on an interval, whose center is returned, as in libsvm. The
    arguments have one row per classifier, (..., n).

    >>> float(best_intercept(np.array([0.0, 0.5, -3.0]), np.array([1.0, 1.0, -1.0]), np.ones(3)))
    1.5
    """
    kinks, jumps = _sorted_along(labels - values, bounds)
    positive = np.where(labels > 0, bounds, 0.0).sum(axis=-1, keepdims=True)
    slopes = np.cumsum(jumps, axis=-1) - positive  # to the right of each kink
    flat = FLAT_SLOPE * bounds.sum(axis=-1, keepdims=True)
    lower, upper = (_entry(kinks, (slopes < slope).sum(axis=-1, keepdims=True)) for slope in (-flat, flat))
    return np.asarray((lower + upper)[..., 0] / 2)


def best_multiple(margins: Floats, bounds: Floats, square: Floats) -> Floats:
    """Return the factor s >= 0 that minimises `s^2 square / 2 + sum_i C_i max(0, 1 - s margins_i)`.

    The margins and bounds have one row per classifier, (..., n); `square` has one entry per classifier. The factor is 1
    where `square` is not positive.

    >>> float(best_multiple(np.array([0.5, 2.0]), np.array([100.0, 100.0]), np.array(1.0)))
    2.0
    """
    with np.errstate(divide="ignore", over="ignore"):
        kinks, terms = _sorted_along(np.where(margins > 0.0, 1.0 / margins, np.inf), bounds * margins)
    # Sum of C_i margins_i over the samples whose slack is positive up to each kink; for negative margins, it always is.
    sums = np.cumsum(terms[..., ::-1], axis=-1)[..., ::-1]
    is_convex = square > 0.0
    square = np.where(is_convex, square, 1.0)[..., None]
    reached = kinks * square >= sums
    number = np.where(reached.any(axis=-1), reached.argmax(axis=-1), kinks.shape[-1] - 1)[..., None]
    before = np.where(number > 0, _entry(kinks, np.maximum(number - 1, 0)), 0.0)
    factor = np.minimum(np.maximum(_entry(sums, number) / square, before), _entry(kinks, number))
    return np.where(is_convex, factor[..., 0], 1.0)


def _sorted_along(keys: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return each row of the keys in increasing order, and the values in the same order."""
    order = np.argsort(keys, axis=-1, kind="stable")
    return np.take_along_axis(keys, order, axis=-1), np.take_along_axis(values, order, axis=-1)


def _entry(rows: Floats, places: Integers) -> Floats:
    """Return one entry of each row; an index beyond the end refers to the last entry."""
    return np.take_along_axis(rows, np.minimum(places, rows.shape[-1] - 1), axis=-1)


def movable(labels: Floats, alpha: Floats, bounds: Floats) -> tuple[Booleans, Booleans]:
    """Return masks of the samples whose `y_i alpha_i` can increase, and of those for which it can decrease."""
    below, above, positive = alpha < bounds, alpha > 0.0, labels > 0.0
    return np.where(positive, below, above), np.where(positive, above, below)


def intercept(images: Floats, labels: Floats, alpha: Floats, bounds: Floats) -> float:
    """Return the intercept as libsvm computes it.

    It is the mean over the samples on the margin. If there is none, every intercept of an interval is optimal, and this
    is the middle of the interval.
    """
    kinks = labels - images
    free = (alpha > 0.0) & (alpha < bounds)
    if free.any():
        return float(kinks[free].mean())
    up, down = movable(labels, alpha, bounds)
    return float(kinks[up].max() + kinks[down].min()) / 2
