"""The sentences that state which methods are significantly better than `unif`."""

import io
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
import pytest
from rich.console import Console
from scipy import stats

from kernel_pipeline.cli.summary_view import print_summary
from kernel_pipeline.results.comparison import compare_methods
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.results.unif_sentences import unif_sentences
from tests.pipeline.results.made_rows import rows_of

Errors = Mapping[str, Sequence[float | None]]
UNIF: list[float | None] = [0.30, 0.32, 0.31, 0.33, 0.30]
ALIGNF: list[float | None] = [0.29, 0.30, 0.29, 0.31, 0.28]
NEAR: list[float | None] = [0.29, 0.33, 0.30, 0.34, 0.30]
WORSE: list[float | None] = [0.51, 0.53, 0.54, 0.52, 0.50]


def sentences(test_ratio: float = 1 / 3, **datasets: Errors) -> list[str]:
    rows = pd.concat([rows_of(errors, dataset=name) for name, errors in datasets.items()], ignore_index=True)
    return unif_sentences(compare_methods(rows, dict.fromkeys(datasets, test_ratio)))


def test_a_better_method_is_named_with_its_adjusted_p_value() -> None:
    # Differences of alignf and unif: .01, .02, .02, .02, .02; their mean is .018, and their variance 2e-5. The
    # corrected standard error is sqrt((1/5 + 1/3) 2e-5) = .003266, so that t = 5.511 with 4 degrees of freedom.
    p = 2 * stats.t.sf(0.018 / np.sqrt((1 / 5 + 1 / 3) * 2e-5), 4)
    assert p == pytest.approx(0.0053, abs=1e-4)
    assert sentences(digits={"unif": UNIF, "alignf": ALIGNF}) == [
        "On digits, alignf is significantly better than unif (p < .01, corrected)."
    ]
    # With a third method, there are three pairs, and Holm's method multiplies the smallest p-value by 3.
    assert 3 * p == pytest.approx(0.0159, abs=1e-4)
    assert sentences(digits={"near": NEAR, "unif": UNIF, "alignf": ALIGNF}) == [
        "On digits, alignf is significantly better than unif (p = .02, corrected)."
    ]


def test_a_method_that_is_better_only_without_the_adjustment_is_not_named() -> None:
    # Differences .03, .01, .02, .03, .01: p = .052 for one pair, and at least twice this for three pairs.
    better: list[float | None] = [0.27, 0.31, 0.29, 0.30, 0.29]
    assert sentences(digits={"unif": UNIF, "alignf": better}) == [
        "On digits, alignf is significantly better than unif (p = .05, corrected)."
    ]
    assert sentences(digits={"near": NEAR, "unif": UNIF, "alignf": better}) == [
        "No method is significantly better than unif on digits."
    ]


def test_worse_methods_and_the_order_of_a_pair_do_not_matter() -> None:
    for names in (("unif", "majority"), ("majority", "unif")):
        errors = {"unif": UNIF, "majority": WORSE}
        found = sentences(digits={name: errors[name] for name in names})
        assert found == ["No method is significantly better than unif on digits."]
    assert sentences(digits={"alignf": ALIGNF, "unif": UNIF}) == sentences(digits={"unif": UNIF, "alignf": ALIGNF})


def test_baselines_count_as_methods() -> None:
    found = sentences(digits={"unif": WORSE, "linear": UNIF, "best-single": ALIGNF})
    assert found == ["On digits, linear and best-single are significantly better than unif (p < .01, corrected)."]


def test_datasets_with_the_same_outcome_share_a_sentence() -> None:
    near: Errors = {"unif": UNIF, "align": NEAR}
    assert sentences(a=near, b=near) == ["No method is significantly better than unif on any dataset."]
    assert sentences(a=near, b={"unif": UNIF, "alignf": ALIGNF}, c=near) == [
        "On b, alignf is significantly better than unif (p < .01, corrected).",
        "No method is significantly better than unif on a and c.",
    ]


def test_two_problems_of_a_dataset_are_told_apart() -> None:
    better: Errors = {"unif": UNIF, "alignf": ALIGNF}
    rows = pd.concat(
        [rows_of(better, "wave"), rows_of({"unif": UNIF, "align": NEAR}, "wave", "classification", "misclassification")]
    )
    assert unif_sentences(compare_methods(rows, {"wave": 1 / 3})) == [
        "On wave (regression), alignf is significantly better than unif (p < .01, corrected).",
        "No method is significantly better than unif on wave (classification).",
    ]


def test_tests_that_are_not_defined() -> None:
    undefined = ["The test of other methods against unif is not defined on a."]
    assert sentences(a={"unif": [0.3], "alignf": [0.1]}) == undefined  # one trial
    assert sentences(np.nan, a={"unif": UNIF, "alignf": ALIGNF}) == undefined  # a fixed test set
    assert sentences(a={"unif": [None, None], "alignf": [0.1, 0.2]}) == undefined  # no result of unif
    assert sentences(a={"unif": UNIF, "align": NEAR, "b": [None, None, None, None, 0.1]}) == [
        "On a, no tested method is significantly better than unif; b: not tested."
    ]


def test_failed_methods_and_methods_with_the_same_errors() -> None:
    failed: list[float | None] = [None] * 5
    none = ["No method is significantly better than unif on a."]
    assert sentences(a={"unif": UNIF, "align": NEAR, "b": failed}) == none
    assert sentences(a={"unif": UNIF, "align": UNIF}) == none


def test_sweeps_without_unif_or_without_other_methods_have_no_sentence() -> None:
    assert sentences(a={"align": NEAR, "alignf": ALIGNF}) == []
    assert sentences(a={"unif": UNIF}) == []


def test_the_terminal_ends_with_the_sentence() -> None:
    rows, said = rows_of({"unif": UNIF, "align": NEAR}), io.StringIO()
    print_summary(Console(file=said, width=120), summarise(rows), compare_methods(rows, {"made": 1 / 3}))
    assert said.getvalue().splitlines()[-1] == "No method is significantly better than unif on made."
