"""`errors`: the test error of every method and trial, one image per dataset and problem."""

from collections.abc import Iterator

import pandas as pd

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.strips import draw_strips
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.metrics import METRICS


class Errors(Figure):
    """Test errors by method, sorted by their mean."""

    name = "errors"
    max_problems = 60

    def draw(self, results: Results) -> Iterator[Drawing]:
        for (dataset, problem), rows in results.finished_rows():
            metric = METRICS[str(rows["metric"].iloc[0])].error_title
            constant = rows["method"][~rows["method"].map(results.uses_features)].unique()
            shown = rows[~rows["method"].isin(constant)] if len(constant) < rows["method"].nunique() else rows
            image = draw_strips(shown, "error", f"{metric} on the test fold", smallest_is_best=True)
            if image:
                yield Drawing(
                    image,
                    "Error of each method",
                    f"Each point is the {metric} on the test fold of one trial; the line is the mean over the trials. "
                    "The method with the smallest mean is at the top."
                    + (_left_out(rows[rows["method"].isin(constant)]) if len(shown) < len(rows) else ""),
                    dataset,
                    problem,
                )


def _left_out(rows: pd.DataFrame) -> str:
    """Return a sentence with the mean errors of methods that would stretch the axis."""
    means = rows.groupby("method", sort=False)["error"].mean()
    listed = " and ".join(f"{method} ({mean:.3g})" for method, mean in means.items())
    return f" Methods that ignore the features are not shown: {listed}." if listed else ""


register(Errors())
