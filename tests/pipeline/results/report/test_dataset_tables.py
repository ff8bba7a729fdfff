"""The tables of the report about one dataset."""

import pandas as pd

from kernel_pipeline.results.report.dataset_tables import MAX_CLASSES, _confusion_table, _output_table
from kernel_pipeline.results.report.html_table import HtmlTable


def texts(table: HtmlTable | None) -> list[list[str]]:
    assert table is not None
    return [list(table.columns), *([cell.text for cell in row] for row in table.rows)]


def test_the_confusion_matrix_adds_up_the_trials_of_the_best_method() -> None:
    rows = pd.DataFrame(
        [
            ("align", 0, "ham", "ham", 7),
            ("align", 0, "ham", "spam", 2),
            ("align", 0, "spam", "spam", 1_000),
            ("align", 1, "ham", "spam", 3),
            ("unif", 0, "ham", "ham", 50),
        ],
        columns=["method", "trial", "true_class", "predicted_class", "samples"],
    )
    table = _confusion_table(rows, "align")
    assert texts(table) == [["true class", "ham", "spam"], ["ham", "7", "5"], ["spam", "0", "1,000"]]
    assert table is not None
    assert "predicted by align" in table.caption
    assert _confusion_table(rows, "") is None


def test_a_matrix_of_many_classes_is_left_out() -> None:
    rows = pd.DataFrame({"true_class": map(str, range(MAX_CLASSES + 1)), "samples": 1, "method": "align"})
    rows["predicted_class"] = rows["true_class"]
    assert _confusion_table(rows, "align") is None
    assert len(texts(_confusion_table(rows[:-1], "align"))) == MAX_CLASSES + 1


def test_errors_by_output_are_means_over_the_trials() -> None:
    rows = pd.DataFrame(
        [
            ("unif", 0, "y1", 0.1),
            ("unif", 0, "y2", 30.0),
            ("unif", 1, "y1", 0.3),
            ("unif", 1, "y2", 50.0),
            ("align", 0, "y1", 0.15),
            ("align", 0, "y2", 20.0),
        ],
        columns=["method", "trial", "output", "error"],
    )
    assert texts(_output_table(rows, "unif")) == [
        ["method", "y1", "y2"],
        ["unif", "0.200", "40.0"],
        ["align", "0.150", "20.0"],
    ]
