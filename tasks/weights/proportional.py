"""Scale values to weights whose absolute values sum to one."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics


def proportional(values: Floats) -> Floats:
    """Scale values so that their absolute values sum to one.

    Raises
    ------
    NoWeightsError
        If all values are 0.
    """
    total = float(np.abs(values).sum())
    if not total > 0:
        raise NoWeightsError
    return values / total


def relative_to_largest(values: Floats) -> Floats:
    """Divide values by the largest one, so that their powers do not overflow.

    Raises
    ------
    NoWeightsError
        If no value is positive.
    """
    largest = float(values.max(initial=0.0))
    if largest <= 0.0:
        raise NoWeightsError
    return values / largest


def largest_only(values: Floats) -> Floats:
    """Put all weight on the largest value, which must be positive; on the first if there are several."""
    weights = np.zeros_like(values)
    best = int(np.argmax(values))
    weights[best] = values[best] > 0
    return proportional(weights)


def defined_alignments(statistics: KernelStatistics) -> Floats:
    """Return the alignment of each kernel; 0 if it is not defined."""
    return np.nan_to_num(statistics.own_alignments(), nan=0.0)


def certified_weights(v: Floats, residual: float, tolerance: float) -> tuple[Floats, float]:
    """Scale the solution of an optimisation problem to weights, if it is accurate enough.

    Parameters
    ----------
    tolerance
        Largest relative residual of a solution.

    Returns
    -------
    weights, certificate
        The values that `WeightRule.weights` returns.

    Raises
    ------
    NotSolvedError
        If the residual exceeds the tolerance.
    """
    if not residual <= tolerance:
        raise NotSolvedError(
            f"the residual of the weights is {residual:.1e}, and at most {tolerance:g} is allowed. The kernels are "
            "nearly linearly dependent on this training set: use fewer kernels, more samples or `align`, or scale "
            "features whose sizes differ by many orders of magnitude"
        )
    return proportional(v), residual
