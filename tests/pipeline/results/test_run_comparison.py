"""Comparisons of two runs, by hand."""

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.results.run_comparison import compare_runs, mean_differences
from tests.pipeline.results.made_rows import rows_of

FIRST = pd.concat([rows_of({"unif": [1.0, 2.0, 3.0], "align": [1.0, 1.0, 1.0]}), rows_of({"unif": [9.0]}, "mine")])
SECOND = rows_of({"align": [1.0, 1.5, 1.0], "unif": [1.0, 2.5, 2.0, 8.0]})


def test_cells_by_hand() -> None:
    found = compare_runs(FIRST, SECOND)
    assert (found.only_a, found.only_b) == (1, 1)
    cells = found.cells
    assert list(zip(cells["method"], cells["trial"], strict=True)) == [
        *(("unif", trial) for trial in range(3)),
        *(("align", trial) for trial in range(3)),
    ]
    assert list(cells["error_difference"]) == [0.0, 0.5, -1.0, 0.0, 0.5, 0.0]
    assert list(cells["alignment_difference"]) == [0.0] * 6
    assert found.n_equal == 3
    assert (found.max_abs_difference("error"), found.max_abs_difference("alignment")) == (1.0, 0.0)


def test_means_by_hand() -> None:
    means = mean_differences(compare_runs(FIRST, SECOND).cells).set_index("method")
    assert list(means.index) == ["unif", "align"]
    assert list(means["trials"]) == [3, 3]
    columns = ["error_a", "error_b", "error_difference", "error_largest"]
    np.testing.assert_allclose(means.loc["unif", columns].astype(float), [2.0, 5.5 / 3, -0.5 / 3, 1.0], rtol=1e-14)
    np.testing.assert_allclose(means.loc["align", columns].astype(float), [1.0, 3.5 / 3, 0.5 / 3, 0.5], rtol=1e-14)


def test_differences_by_rounding_are_equal() -> None:
    first, second = rows_of({"unif": [0.3, 0.7, 0.3]}), rows_of({"unif": [0.1 + 0.2, 0.7, 0.3 * (1 + 1e-13)]})
    found = compare_runs(first, second.assign(alignment_test=0.1 * (1 - 1e-15)))
    assert (found.n_equal, found.max_abs_difference("error"), found.max_abs_difference("alignment")) == (3, 0.0, 0.0)
    permuted = rows_of({"unif": [0.7, 0.1 + 0.2, 0.3]})
    means = mean_differences(compare_runs(first, permuted).cells)
    assert list(means["error_difference"]) == [0.0]
    assert means["error_largest"][0] == pytest.approx(0.4)


def test_two_undefined_alignments_are_equal_and_one_is_not() -> None:
    rows = rows_of({"unif": [1.0, 2.0]})
    undefined = rows.assign(alignment_test=np.nan)
    assert compare_runs(undefined, undefined).n_equal == 2
    assert np.isnan(compare_runs(undefined, undefined).max_abs_difference("alignment"))
    assert compare_runs(rows, undefined).n_equal == 0


@pytest.mark.parametrize("change", [{"dataset": "mine"}, {"task": "classification"}, {"metric": "mae"}])
def test_cells_of_other_datasets_tasks_and_metrics_are_not_compared(change: dict[str, str]) -> None:
    found = compare_runs(rows_of({"unif": [1.0]}), rows_of({"unif": [1.0]}, **change))
    assert found.cells.empty
    assert (found.only_a, found.only_b) == (1, 1)
