"""Compare errors and other results that may differ by rounding alone."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

ROUNDING = 1e-12
"""Numbers whose difference is at most this share of the larger one are equal up to rounding."""


def rounded_difference(first: Floats, second: Floats) -> Floats:
    """Return `first - second`, and exactly 0 for numbers that are equal up to rounding.

    >>> rounded_difference(np.array([0.1 + 0.2, 0.5]), np.array([0.3, 0.25]))
    array([0.  , 0.25])
    """
    return without_rounding(first - second, np.maximum(np.abs(first), np.abs(second)))


def without_rounding(difference: Floats, size: Floats | float) -> Floats:
    """Return differences of numbers of a size, or means of such differences, with 0 for those that are rounding.

    >>> without_rounding(np.array([-4e-16, 0.25, np.nan]), 0.5)
    array([0.  , 0.25,  nan])
    """
    return np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)
