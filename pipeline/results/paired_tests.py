"""Test whether the errors of two methods differ, from the errors of both in the same trials.

The training sets of trials overlap, so the differences of two methods are correlated, and the variance of their mean is
larger than `s^2 / J`, where s^2 is the variance of the differences over J trials. The paper's paired t-test ignores
this. Nadeau and Bengio, "Inference for the Generalization Error" (Machine Learning 52, 2003), replace 1/J by
`1/J + n_test/n_train`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtr, stdtrit

from kernel_pipeline.results.rounding import ROUNDING, rounded_difference, without_rounding
from kernel_pipeline.tasks.arrays import Floats

LEVEL = 0.1
"""Significance level of the tests of two methods, as in the paper. Confidence intervals have the level 1 - LEVEL."""


@dataclass(frozen=True)
class PairedTest:
    """Comparison of two methods; NaN where a value is not defined."""

    trials: int
    """Number of trials in which both methods have an error."""
    difference: float
    """Mean of the error of the first method minus the error of the second; 0 if the means are equal up to rounding."""
    lower: float = np.nan
    upper: float = np.nan
    """Confidence interval of the difference, with the corrected variance."""
    p_paired: float = np.nan
    """One-sided paired t-test: p-value for a smaller error of the first method."""
    p_corrected: float = np.nan
    """Two-sided corrected resampled t-test: p-value for any difference."""


def paired_test(first: Floats, second: Floats, test_ratio: float) -> PairedTest:
    """Compare the errors of two methods in the same trials.

    Tests are not defined for fewer than two trials, nor if the difference is the same in all trials.

    Parameters
    ----------
    first, second
        Errors of each trial; NaN for a failed one.
    test_ratio
        Number of test samples divided by the number of training samples; NaN if the corrected test does not apply.

    Examples
    --------
    >>> test = paired_test(np.array([0.2, 0.3, 0.25]), np.array([0.3, 0.35, 0.4]), 1 / 3)
    >>> round(test.difference, 3), round(test.p_paired, 4), round(test.p_corrected, 4)
    (-0.1, 0.0371, 0.134)
    """
    both = np.isfinite(first) & np.isfinite(second)
    differences = rounded_difference(first[both], second[both])
    trials = len(differences)
    if not trials:
        return PairedTest(0, np.nan)
    largest = max(np.abs(first[both]).max(), np.abs(second[both]).max())
    mean = float(without_rounding(differences.mean(), largest))
    deviation = float(differences.std(ddof=1)) if trials > 1 else 0.0
    if not deviation > ROUNDING * largest:
        return PairedTest(trials, mean)
    degrees = trials - 1
    standard_error = deviation * np.sqrt(1.0 / trials + test_ratio)
    half_width = float(stdtrit(degrees, 1.0 - LEVEL / 2.0) * standard_error)
    return PairedTest(
        trials,
        mean,
        lower=mean - half_width,
        upper=mean + half_width,
        p_paired=float(stdtr(degrees, mean / (deviation / np.sqrt(trials)))),
        p_corrected=float(2.0 * stdtr(degrees, -abs(mean) / standard_error)),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjust p-values for several tests by Holm's method; tests that are not defined (NaN) are not counted.

    >>> holm([0.01, float("nan"), 0.04, 0.03])
    [0.03, nan, 0.06, 0.06]
    """
    values = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full_like(values, np.nan)
    order = np.argsort(values, kind="stable")[: np.count_nonzero(~np.isnan(values))]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1.0, np.maximum.accumulate(factors * values[order]))
    return [float(value) for value in adjusted]
