"""Comparisons with the paper: numbers by hand, and significance against scipy."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ttest_rel

from kernel_pipeline.results.paper_comparison import (
    ComparedNumber,
    compare_orders,
    compare_with_paper,
    compared_frame,
)
from kernel_pipeline.results.paper_tables import NumberKey
from kernel_pipeline.results.paper_text import agreement, comparison_tables
from tests.pipeline.results.made_rows import rows_of

UNIF = [0.14, 0.141, 0.142, 0.143, 0.144]
ALIGN = [0.131, 0.134, 0.133, 0.132, 0.135]
ALIGNF = [0.136, 0.139, 0.135, 0.138, 0.137]
# Means .142, .133 and .137; in the paper .138 ± .005, .125 ± .004 and .115 ± .004.
KINEMATICS = {"unif": UNIF, "align": ALIGN, "alignf": ALIGNF, "best-kernel": UNIF}
CORRELATION = pd.DataFrame(
    [{"dataset": "kinematics", "task": "regression", "kernels": 7, "centered": 0.95, "uncentered": 0.97}]
)


def compared(rows: pd.DataFrame, correlation: pd.DataFrame | None = None) -> dict[NumberKey, ComparedNumber]:
    return {cell.paper.key: cell for cell in compare_with_paper(rows, correlation)}


def kinematics(measure: str, method: str, other: str = "") -> NumberKey:
    return NumberKey("kinematics", "regression", measure, method, other)


def test_errors_and_alignments_by_hand() -> None:
    found = compared(rows_of(KINEMATICS, "kinematics"))
    expected = {("error", "unif"): 0.8, ("error", "align"): 2.0, ("error", "alignf"): 5.5}
    for (measure, method), deviations in expected.items():
        assert found[kinematics(measure, method)].deviations == pytest.approx(deviations, rel=1e-9)
    alignment = found[kinematics("alignment", "unif")]  # .1 in every trial; .158 ± .013 in the paper
    assert (alignment.ours, alignment.ours_sd) == pytest.approx((0.1, 0.0), abs=1e-15)
    assert alignment.deviations == pytest.approx(-58 / 13, rel=1e-9)
    assert found[kinematics("error", "unif")].ours_sd == pytest.approx(np.std(UNIF, ddof=1), rel=1e-12)
    assert kinematics("error", "l2-krr") not in found  # the run does not have it
    assert {key.method for key in found} == {"unif", "align", "alignf"}  # the paper has no best-kernel


def test_entries_against_scipy() -> None:
    found = compared(rows_of(KINEMATICS, "kinematics"))
    errors = {"unif": UNIF, "align": ALIGN, "alignf": ALIGNF}
    for row, its in errors.items():
        for column, others in errors.items():
            if row != column:
                cell = found[kinematics("other_is_better", row, column)]
                assert cell.ours == (ttest_rel(others, its, alternative="less").pvalue < 0.1)
                assert cell.agrees == (cell.ours == cell.paper.value)


def test_other_datasets_problems_and_metrics_are_left_out() -> None:
    for rows in (
        rows_of(KINEMATICS, "mine"),
        rows_of(KINEMATICS, "kinematics", "classification", "misclassification"),
        rows_of(KINEMATICS, "kinematics", metric="mae"),
        rows_of(KINEMATICS, "kinematics")[:0],
    ):
        assert compared(rows) == {}


def test_orders_by_hand() -> None:
    """In the paper, alignf < align < unif by error and the reverse by alignment; uncentered < centered."""
    cells = compare_with_paper(rows_of(KINEMATICS, "kinematics"), CORRELATION)
    found = {(order.key.measure, order.key.method, order.key.other): order.agrees for order in compare_orders(cells)}
    assert found == {
        ("correlation", "uncentered", "centered"): False,
        ("error", "align", "unif"): True,
        ("error", "alignf", "unif"): True,
        ("error", "alignf", "align"): False,
        ("alignment", "unif", "align"): False,  # all are .1 here
        ("alignment", "unif", "alignf"): False,
        ("alignment", "align", "alignf"): False,
    }


def test_numbers_that_are_equal_in_the_paper_have_no_order() -> None:
    """The alignments of unif and align on german are both .089."""
    rows = rows_of({"unif": UNIF, "align": ALIGN}, "german", "classification", "misclassification")
    assert {order.key.measure for order in compare_orders(compare_with_paper(rows, None))} == {"error"}


def test_sentences_by_hand() -> None:
    all_do = "combinations of a dataset and a task, all pairs do"
    assert agreement(compare_with_paper(rows_of(KINEMATICS, "kinematics"), CORRELATION)) == [
        f"Table 1, orders by correlations: 0 of 1 pairs have the same order as in the paper; on 0 of 1 {all_do}. "
        "Different: kinematics regression uncentered < centered.",
        "Table 2, errors: 1 of 3 are within one standard deviation of the paper, 2 within two. More than two: "
        "kinematics regression alignf (+5.50).",
        f"Table 2, orders by errors: 2 of 3 pairs have the same order as in the paper; on 0 of 1 {all_do}. "
        "Different: kinematics regression alignf < align.",
        "Table 2, alignments: 0 of 3 are within one standard deviation of the paper, 0 within two. More than two: "
        "kinematics regression unif (-4.46), kinematics regression align (-4.56), kinematics regression alignf "
        "(-4.47).",
        f"Table 2, orders by alignments: 0 of 3 pairs have the same order as in the paper; on 0 of 1 {all_do}. "
        "Different: kinematics regression unif < align, kinematics regression unif < alignf, kinematics regression "
        "align < alignf.",
        "Table 4, significance: 4 of 6 entries agree. Different: kinematics regression align, alignf (this run: 0); "
        "kinematics regression alignf, align (this run: 1).",
    ]


def test_undefined_numbers_are_empty_and_counted() -> None:
    """One trial has no t-test, and a constant column no correlation."""
    correlation = CORRELATION.assign(uncentered=np.nan)
    cells = compare_with_paper(rows_of({"unif": [0.1], "align": [0.1]}, "kinematics"), correlation)
    lines = agreement(cells)
    assert lines[0].endswith("accuracy of single kernels: 1 of 2 numbers are not defined in this run.")
    assert lines[-2:] == [
        "Table 4, significance: 0 of 0 entries agree.",
        "Table 4, significance: 2 of 2 numbers are not defined in this run.",
    ]
    frame = compared_frame(cells).set_index(["measure", "method"])
    assert frame.loc[("other_is_better", "unif"), ["ours", "agrees"]].isna().all(axis=None)
    assert np.isnan(frame["ours"]["correlation", "uncentered"])
    matrix = comparison_tables(cells)[-1]
    assert matrix.rows == [["unif", "--", "(1)"], ["align", "(0)", "--"]]


def test_tables_have_the_layout_of_the_paper() -> None:
    cells = compare_with_paper(rows_of(KINEMATICS, "kinematics"), CORRELATION)
    tables = {table.title: table for table in comparison_tables(cells)}
    errors = tables["Table 2, regression: error"]
    assert errors.heading == ["", "kinematics"]
    assert errors.rows == [
        ["unif", ".142 (.138 ± .005) +0.8"],
        ["align", ".133 (.125 ± .004) +2.0"],
        ["alignf", ".137 (.115 ± .004) +5.5"],
    ]
    matrix = tables["Table 4, kinematics, regression: significance"]
    assert matrix.heading == ["", "unif", "align", "alignf"]
    assert matrix.rows == [
        ["unif", "--", "1 (1)", "1 (1)"],
        ["align", "0 (0)", "--", "0 (1) *"],
        ["alignf", "0 (0)", "1 (0) *", "--"],
    ]
