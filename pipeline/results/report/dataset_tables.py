"""Build the tables of the report about one dataset: the confusion matrix of its best method, and errors by output."""

import pandas as pd

from kernel_pipeline.results.numbers import decimals_for, format_number
from kernel_pipeline.results.report.html_table import HtmlCell, HtmlTable, integer_cell, text_cells
from kernel_pipeline.results.view import Key, Results

MAX_CLASSES = 20
"""Largest number of classes for which a confusion matrix is shown."""
MAX_OUTPUTS = 20
"""Largest number of outputs whose errors are shown."""
MAX_PROBLEMS = 20
"""Maximum number of pairs of a dataset and a problem with tables, in the order of the config."""


def dataset_tables(results: Results) -> dict[Key, list[HtmlTable]]:
    """Return the tables of the first datasets and problems that have any."""
    first = results.first(MAX_PROBLEMS)
    found: dict[Key, list[HtmlTable]] = {}
    for name, build in (("confusion", _confusion_table), ("outputs", _output_table)):
        for key, rows in first.parts(name):
            best = results.best_methods[key].method if key in results.best_methods else ""
            if table := build(rows, best):
                found.setdefault(key, []).append(table)
    return found


def _confusion_table(rows: pd.DataFrame, best: str) -> HtmlTable | None:
    """Return the numbers of test samples of all trials by true class (rows) and predicted class (columns)."""
    counts = rows[rows["method"] == best]
    classes = list(dict.fromkeys([*counts["true_class"], *counts["predicted_class"]]))
    if not classes or len(classes) > MAX_CLASSES:
        return None
    sums = counts.groupby(["true_class", "predicted_class"])["samples"].sum()
    return HtmlTable(
        ("true class", *map(str, classes)),
        [
            [
                *text_cells(true),
                *(integer_cell(int(sums.get((true, predicted), 0))) for predicted in classes),
            ]
            for true in classes
        ],
        f"Test samples of all trials by true class (rows) and class predicted by {best} (columns)",
    )


def _output_table(rows: pd.DataFrame, best: str) -> HtmlTable | None:
    """Return the mean errors of the methods (rows) by output (columns)."""
    outputs = list(dict.fromkeys(rows["output"]))
    if not outputs or len(outputs) > MAX_OUTPUTS:
        return None
    means = rows.groupby(["method", "output"], sort=False)["error"].mean()
    decimals = {output: decimals_for(means.xs(output, level="output")) for output in outputs}
    return HtmlTable(
        ("method", *map(str, outputs)),
        [
            [
                *text_cells(method),
                *(
                    HtmlCell(format_number(means[method, output], decimals[output]), order=float(means[method, output]))
                    for output in outputs
                ),
            ]
            for method in dict.fromkeys(rows["method"])
        ],
        "Error on the test fold by output, mean over the trials",
    )
