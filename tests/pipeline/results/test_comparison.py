"""Comparisons of methods against scipy and statsmodels, and by hand; the paper's matrices."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from statsmodels.stats.multitest import multipletests

from kernel_pipeline.results.comparison import (
    compare_methods,
    comparison_latex,
    comparison_markdown,
    significance,
    significance_latex,
    significance_markdown,
)
from tests.helpers.sweeps import fail, resume_here, run_here, smaller_config
from tests.pipeline.results.made_rows import rows_of

TESTS = ["lower", "upper", "p_paired", "p_corrected", "p_holm"]


def test_a_run_against_scipy(root: Path) -> None:
    """Recompute every value of every pair from the rows of a run with 50 samples in 3 folds of 17, 17 and 16."""
    rows, found = (pd.read_csv(root / f"results/{name}.csv") for name in ("rows", "comparison"))
    assert len(found) == 3  # two methods; three pairs of a dataset and a task
    for pair in found.to_dict("records"):
        part = rows[(rows["dataset"] == pair["dataset"]) & (rows["task"] == pair["task"])]
        first, second = (part.loc[part["method"] == pair[name], "error"].to_numpy() for name in ("method", "other"))
        difference = first - second
        less = scipy.stats.ttest_rel(first, second, alternative="less").pvalue
        assert pair["p_paired"] == pytest.approx(less, rel=1e-9)
        scale = difference.std(ddof=1) * np.sqrt(1 / 3 + 1.0)  # the test set and the training set are one fold each
        assert pair["p_corrected"] == pytest.approx(2 * scipy.stats.t.sf(abs(difference.mean() / scale), 2), rel=1e-9)
        interval = scipy.stats.t.interval(0.9, 2, loc=difference.mean(), scale=scale)
        assert (pair["lower"], pair["upper"]) == pytest.approx(interval, rel=1e-9)
        assert pair["p_holm"] == pair["p_corrected"]  # one pair


def test_holm_adjusts_for_all_pairs_of_a_dataset_and_task() -> None:
    rng = np.random.default_rng(0)
    errors = {name: [float(error) for error in rng.random(5)] for name in "abcd"}
    found = compare_methods(rows_of(errors), {"made": 1 / 3})
    assert list(zip(found["method"], found["other"], strict=True)) == list(combinations("abcd", 2))
    expected = multipletests(found["p_corrected"], method="holm")[1]
    np.testing.assert_allclose(found["p_holm"], expected, rtol=1e-14)
    doubled = compare_methods(pd.concat([rows_of(errors), rows_of(errors, "other")]), {"made": 1 / 3, "other": 1 / 3})
    np.testing.assert_array_equal(doubled["p_holm"], np.tile(found["p_holm"], 2))


def records(frame: pd.DataFrame) -> dict[tuple[str, str], Any]:
    """Return the rows of a table by their pair of methods."""
    return {(row["method"], row["other"]): row for row in frame.to_dict("records")}


BY_HAND: dict[str, list[float | None]] = {
    "first": [1.0, 1.0, 1.0],
    "second": [2.0, 3.0, 4.0],
    "same": [1.0, 1.0, 1.0],
    "broken": [None, 2.0, None],
}
"""first - second is -1, -2, -3: t = -2 sqrt(3), P(T < t) = .037 with two degrees of freedom."""


def test_by_hand() -> None:
    found = records(compare_methods(rows_of(BY_HAND), {"made": 1 / 6}))
    pair = found["first", "second"]
    assert pair["paired_trials"] == 3
    assert pair["difference"] == -2.0
    assert pair["p_paired"] == pytest.approx((1 - np.sqrt(12 / 14)) / 2, rel=1e-12)
    assert pair["p_corrected"] == pytest.approx(1 - np.sqrt(8 / 10), rel=1e-12)
    assert pair["p_holm"] == pytest.approx(2 * (1 - np.sqrt(8 / 10)), rel=1e-12)  # two pairs can be tested
    same = found["first", "same"]
    assert same["difference"] == 0.0
    assert all(np.isnan(same[name]) for name in TESTS)
    broken = found["first", "broken"]
    assert (broken["paired_trials"], broken["difference"]) == (1, -1.0)
    assert all(np.isnan(broken[name]) for name in TESTS)


def test_differences_by_rounding_are_zero() -> None:
    errors: dict[str, list[float | None]] = {
        "first": [0.3, 0.3, 0.7],
        "same": [0.1 + 0.2, 0.3, 0.7],
        "permuted": [0.7, 0.3, 0.3],
        "turned": [0.3, 0.7, 0.1 + 0.2],
    }
    compared = compare_methods(rows_of(errors), {"made": 1 / 6})
    assert list(compared["difference"]) == [0.0] * 6
    assert "| first - permuted | 3 | .000 |" in comparison_markdown(compared).decode()
    found = records(compared)
    assert all(np.isnan(found["first", "same"][name]) for name in TESTS)
    assert found["first", "permuted"]["p_corrected"] == 1.0


def test_matrices_by_hand() -> None:
    entries = significance(compare_methods(rows_of(BY_HAND), {"made": 1 / 6}))
    text = significance_markdown(entries).decode()
    assert text.splitlines()[2:] == [
        "|  | first | second | same | broken |",
        "| --- | --- | --- | --- | --- |",
        "| first | -- | 0 |  |  |",  # the same errors, and one trial: no test
        "| second | 1 | -- | 1 |  |",
        "| same |  | 0 | -- |  |",
        "| broken |  |  |  | -- |",
    ]
    assert r"second & 1 & -- & 1 &  \\" in significance_latex(entries).decode().splitlines()
    assert entries["other_is_better"].isna().sum() == 2 + 6


def test_the_paper_s_level_is_one_sided() -> None:
    """P = .0996 is significant and .1004 is not: t = 1.893 and 1.878 with two degrees of freedom."""
    for shift, expected in ((1.893, 1), (1.878, 0)):
        differences = np.array([-1.0, 0.0, 1.0]) + shift / np.sqrt(3)
        errors = {"worse": [float(1 + value) for value in differences], "better": [1.0, 1.0, 1.0]}
        entries = records(significance(compare_methods(rows_of(errors), {"made": 0.5})))
        assert entries["worse", "better"]["other_is_better"] == expected
        assert entries["better", "worse"]["other_is_better"] == 0


def test_comparisons_as_text() -> None:
    found = compare_methods(rows_of(BY_HAND, dataset="my_data"), {"my_data": 1 / 6})
    lines = comparison_markdown(found).decode().splitlines()
    assert lines[0] == "my_data, regression (rmse)."
    assert "| first - second | 3 | -2.000 | [-4.065, .065] | .04 | .11 | .21 |" in lines
    assert "| first - same | 3 | .000 |  |  |  |  |" in lines
    assert "| first - broken | 1 | -1.000 |  |  |  |  |" in lines
    latex = comparison_latex(found).decode()
    assert r"first - second & 3 & -2.000 & [-4.065, .065] & .04 & .11 & .21 \\" in latex
    assert r"90 \% interval" in latex


def test_one_method_has_no_comparisons() -> None:
    found = compare_methods(rows_of({"unif": [1.0, 2.0]}), {"made": 1.0})
    assert found.empty
    assert significance(found).empty
    assert significance_markdown(significance(found)) == b""


def test_a_failed_cell_is_left_out_of_its_pairs_only(tmp_path: Path) -> None:
    plan, _, _ = run_here(tmp_path, smaller_config())
    fail(tmp_path, plan, "fits/wave/regression/alignf/1", "a reason")
    assert resume_here(tmp_path)[0] != 0
    found = pd.read_csv(tmp_path / "results/comparison.csv")
    assert found.groupby("dataset")["paired_trials"].min().to_dict() == {"wave": 2, "flowers": 3}
    predicted = pd.read_parquet(tmp_path / "results/predictions.parquet")
    of_wave = predicted[(predicted["dataset"] == "wave") & (predicted["method"] == "alignf")]
    assert set(of_wave["trial"]) == {0, 2}


def test_trials_of_several_repeats_are_compared_like_trials_of_one() -> None:
    rng = np.random.default_rng(1)
    rows = rows_of({name: [float(error) for error in rng.random(6)] for name in "ab"})
    repeated = rows.assign(repeat=rows["trial"] // 3, trial=rows["trial"] % 3)
    found = compare_methods(repeated, {"made": 0.5})
    assert found["paired_trials"].tolist() == [6]
    pd.testing.assert_frame_equal(found, compare_methods(rows, {"made": 0.5}))
    first, second = (rows.loc[rows["method"] == name, "error"].to_numpy() for name in "ab")
    scale = (first - second).std(ddof=1) * np.sqrt(1 / 6 + 0.5)
    expected = 2 * scipy.stats.t.sf(abs((first - second).mean()) / scale, 5)
    assert found["p_corrected"].tolist() == pytest.approx([expected], rel=1e-9)
