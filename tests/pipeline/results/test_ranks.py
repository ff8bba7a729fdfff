"""Ranks over datasets: the Friedman test by hand and against scipy, the Nemenyi test against its formula."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

from kernel_pipeline.results.ranks import compare_ranks, rank_methods
from kernel_pipeline.results.summary import summarise
from tests.pipeline.results.made_rows import rows_of

METHODS = ("unif", "align", "alignf")


def summary_of(*datasets: dict[str, list[float | None]]) -> pd.DataFrame:
    return summarise(pd.concat([rows_of(errors, f"data{number}") for number, errors in enumerate(datasets)]))


def constant(*errors: float | None) -> dict[str, list[float | None]]:
    return {method: [error, error] for method, error in zip(METHODS, errors, strict=True)}


def test_by_hand() -> None:
    """The same order on four datasets: ranks 3, 2 and 1, Friedman's statistic is 8, and p = exp(-4)."""
    summary = summary_of(*[constant(0.3 + shift, 0.2 + shift, 0.1 + shift) for shift in (0.0, 0.1, 0.2, 0.5)])
    ranks = rank_methods(summary)
    assert ranks is not None
    assert ranks["average_rank"].tolist() == [3.0, 2.0, 1.0]
    assert ranks["datasets"].tolist() == [4, 4, 4]
    np.testing.assert_allclose(ranks["friedman_statistic"], 8.0, rtol=1e-12)
    np.testing.assert_allclose(ranks["friedman_p"], np.exp(-4), rtol=1e-12)
    pairs = compare_ranks(summary)
    assert pairs is not None
    # k (k + 1) / (6 N) = 1/2; ranks that differ by d have q = d / sqrt(1/2), times sqrt(2) in the table of Tukey.
    expected = scipy.stats.studentized_range.sf(2.0 * np.array([1.0, 2.0, 1.0]), 3, np.inf)
    np.testing.assert_allclose(pairs["p_nemenyi"], expected, rtol=1e-9)
    assert pairs["other"].tolist() == ["align", "alignf", "alignf"]


@pytest.mark.parametrize("seed", range(3))
def test_friedman_against_scipy(seed: int) -> None:
    errors = np.random.default_rng(seed).random((5, 3)).round(1)  # with ties
    ranks = rank_methods(summary_of(*[constant(*row) for row in errors]))
    assert ranks is not None
    statistic, p_value = scipy.stats.friedmanchisquare(*errors.T)
    np.testing.assert_allclose(ranks["friedman_statistic"], statistic, rtol=1e-12)
    np.testing.assert_allclose(ranks["friedman_p"], p_value, rtol=1e-12)
    np.testing.assert_allclose(ranks["average_rank"], scipy.stats.rankdata(errors, axis=1).mean(axis=0), rtol=1e-14)


def test_fewer_than_four_datasets_are_not_ranked() -> None:
    summary = summary_of(*[constant(0.3, 0.2, 0.1)] * 3)
    assert rank_methods(summary) is None
    assert compare_ranks(summary) is None


def test_undefined_ranks_are_empty() -> None:
    """A method without an error on one dataset has no rank; two methods, or equal errors, have no Friedman test."""
    lacking = summary_of(*[constant(0.3, 0.2, 0.1)] * 3, constant(0.3, None, 0.1))
    ranks, pairs = rank_methods(lacking), compare_ranks(lacking)
    assert ranks is not None
    assert pairs is not None
    assert ranks["average_rank"].isna().tolist() == [False, True, False]
    assert ranks["friedman_p"].isna().all()
    assert pairs[["method", "other"]].to_numpy().tolist() == [["unif", "alignf"]]
    same = rank_methods(summary_of(*[constant(0.2, 0.2, 0.2)] * 4))
    assert same is not None
    assert same["average_rank"].tolist() == [2.0, 2.0, 2.0]
    assert same["friedman_p"].isna().all()
