"""Scale values to weights whose absolute values sum to one."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.weights.evidence import Evidence


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


def relative(values: Floats) -> Floats:
    """Divide values by the largest one, which keeps their powers in range.

    Raises
    ------
    NoWeightsError
        If no value is positive.
    """
    largest = float(values.max(initial=0.0))
    if largest <= 0.0:
        raise NoWeightsError
    return values / largest


def all_on_the_largest(values: Floats) -> Floats:
    """Give all weight to the largest value, which must be positive; to the first of several."""
    weights = np.zeros_like(values)
    best = int(np.argmax(values))
    weights[best] = values[best] > 0
    return proportional(weights)


def defined_alignments(evidence: Evidence) -> Floats:
    """Return the alignment of each kernel, 0 where it is not defined."""
    return np.nan_to_num(evidence.own_alignments(), nan=0.0)


def solved(v: Floats, residual: float, tolerance: float) -> tuple[Floats, float]:
    """Scale the solution of an optimisation problem to weights, if it is accurate enough.

    Parameters
    ----------
    tolerance
        Largest relative residual of a solution.

    Returns
    -------
    weights, certificate
        As `WeightRule.weights` returns them.

    Raises
    ------
    NotSolvedError
        If the residual exceeds the tolerance.
    """
    if not residual <= tolerance:
        raise NotSolvedError(
            f"the weights were found only to a residual of {residual:.1e}, and {tolerance:g} is promised. The kernels "
            "are too nearly dependent on this training set: use fewer kernels, more samples or `align`, or scale "
            "features whose sizes differ by many orders of magnitude"
        )
    return proportional(v), residual
