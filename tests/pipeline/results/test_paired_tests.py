"""Paired tests against scipy, against scikit-learn's worked example, and by hand."""

import numpy as np
import pytest
import scipy.stats
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC
from statsmodels.stats.multitest import multipletests

from kernel_pipeline.results.paired_tests import LEVEL, holm, paired_test


@pytest.mark.parametrize("seed", range(5))
def test_against_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.random((2, 5 + seed))
    found = paired_test(first, second, 0.0)  # without correction, all values are those of the plain t-test
    less = scipy.stats.ttest_rel(first, second, alternative="less")
    both = scipy.stats.ttest_rel(first, second)
    interval = both.confidence_interval(1 - LEVEL)
    assert found.p_paired == pytest.approx(less.pvalue, rel=1e-12)
    assert found.p_corrected == pytest.approx(both.pvalue, rel=1e-12)
    assert (found.lower, found.upper) == pytest.approx((interval.low, interval.high), rel=1e-10)
    assert found.difference == pytest.approx(np.mean(first) - np.mean(second), rel=1e-12)


def test_by_hand() -> None:
    """Differences -1, -2, -3: mean -2, variance 1; corrected variance of the mean (1/3 + 1/6) = 1/2."""
    found = paired_test(np.array([1.0, 1.0, 1.0]), np.array([2.0, 3.0, 4.0]), 1 / 6)
    t = 2 * np.sqrt(2)  # two degrees of freedom: P(T > t) = (1 - t / sqrt(2 + t^2)) / 2
    assert found.p_corrected == pytest.approx(1 - t / np.sqrt(2 + t**2), rel=1e-12)
    t = 2 * np.sqrt(3)
    assert found.p_paired == pytest.approx((1 - t / np.sqrt(2 + t**2)) / 2, rel=1e-12)
    assert (found.trials, found.difference) == (3, -2.0)
    assert (found.lower + found.upper) / 2 == pytest.approx(-2.0, rel=1e-12)
    assert (found.upper - found.lower) / 2 == pytest.approx(2.919986 * np.sqrt(0.5), rel=1e-6)  # t quantile .95


def test_the_worked_example_of_scikit_learn() -> None:
    """The example "Statistical comparison of models using grid search" prints these one-sided p-values."""
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    folds = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    scores = {
        kernel: cross_val_score(SVC(kernel=kernel, random_state=0), X, y, scoring="roc_auc", cv=folds)
        for kernel in ("rbf", "linear")
    }
    found = paired_test(1 - scores["rbf"], 1 - scores["linear"], test_ratio=10 / 90)
    assert round(found.p_corrected / 2, 3) == 0.227
    assert round(found.p_paired, 3) == 0.005


def test_undefined_values_are_nan() -> None:
    errors = np.array([0.1, 0.2, 0.3])
    nan = np.full(3, np.nan)
    one = paired_test(np.array([0.1, np.nan, 0.3]), np.array([0.2, 0.1, np.nan]), 1 / 3)
    assert one.trials == 1
    assert one.difference == pytest.approx(-0.1)
    same = paired_test(errors, errors, 1 / 3)
    assert (same.trials, same.difference) == (3, 0.0)
    # The difference is the same in all trials up to rounding, so its variance cannot be distinguished from 0.
    shifted = paired_test(np.array([0.06, 0.04, 0.02]), np.array([0.05, 0.03, 0.01]), 1 / 3)
    assert shifted.difference == pytest.approx(0.01)
    failed = paired_test(nan, errors, 1 / 3)
    assert failed.trials == 0
    assert np.isnan(failed.difference)
    for found in (one, same, shifted, failed):
        assert np.isnan([found.lower, found.upper, found.p_paired, found.p_corrected]).all()


def test_without_a_corrected_test_the_paired_test_is_still_reported() -> None:
    found = paired_test(np.array([0.1, 0.2, 0.3]), np.array([0.2, 0.25, 0.5]), np.nan)
    assert np.isnan([found.lower, found.upper, found.p_corrected]).all()
    assert 0 < found.p_paired < 0.5


@pytest.mark.parametrize("seed", range(3))
def test_holm_against_statsmodels(seed: int) -> None:
    p_values = np.random.default_rng(seed).random(8) ** 3
    np.testing.assert_allclose(holm(list(p_values)), multipletests(p_values, method="holm")[1], rtol=1e-14)
    assert holm([]) == []
    assert np.isnan(holm([np.nan, np.nan])).all()
