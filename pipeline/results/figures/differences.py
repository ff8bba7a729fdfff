"""`differences`: the error of each method minus that of the best one, paired by trial, with confidence intervals."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kernel_pipeline.results.best_methods import BestMethod
from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import (
    BLUE,
    BOTTOM,
    END,
    LINE,
    MUTED,
    PAPER,
    ROW,
    SKY,
    VERMILLION,
    category_axis,
    literal,
    margin,
    new_axes,
    shortened,
)
from kernel_pipeline.results.paired_tests import LEVEL
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.metrics import METRICS

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image


@dataclass(frozen=True)
class Difference:
    """Error of a method minus that of the best one."""

    method: str
    trials: Floats
    """Difference in each trial in which both methods have an error."""
    mean: float
    lower: float
    upper: float
    """Confidence interval of the mean; NaN if it is not defined."""
    is_significant: bool


class Differences(Figure):
    """Paired differences from the method with the smallest mean error."""

    name = "differences"
    max_problems = 60

    def draw(self, results: Results) -> Iterator[Drawing]:
        rows = dict(results.finished_rows())
        for key, comparison in results.parts("comparison"):
            best = results.best_methods.get(key)
            found = differences(best, comparison, rows[key]) if best and key in rows else []
            found = [one for one in found if results.uses_features(one.method)]  # the others would stretch the axis
            if best and any(len(difference.trials) > 1 for difference in found):
                metric = METRICS[best.metric].error_title
                yield Drawing(
                    _draw(found, metric, best.method),
                    f"Differences from {best.method}",
                    f"The {metric} of each method minus that of {best.method}, which has the smallest mean. Small "
                    f"points are single trials; the bar is the {100 * (1 - LEVEL):.0f} % confidence interval of the "
                    "mean, with the correction of Nadeau and Bengio for trials that share training samples. Filled "
                    "circles mark differences that are significant after Holm's adjustment for all pairs of methods; "
                    "the others may be chance. Methods that ignore the features are not shown.",
                    *key,
                )


def differences(best: BestMethod, comparison: pd.DataFrame, rows: pd.DataFrame) -> list[Difference]:
    """Return the differences of all methods from the best one, by increasing mean error.

    Parameters
    ----------
    comparison, rows
        Rows of these tables for the dataset and problem of the best method.
    """
    errors = rows.pivot_table(index=["repeat", "trial"], columns="method", values="error", sort=False)
    pairs = {(record["method"], record["other"]): record for record in comparison.to_dict("records")}
    found = []
    for rival in best.rivals:
        if rival.method not in errors:
            continue
        trials = (errors[rival.method] - errors[best.method]).dropna().to_numpy()
        record, sign = pairs.get((rival.method, best.method)), 1.0
        if record is None:
            record, sign = pairs[best.method, rival.method], -1.0
        lower, upper = sorted((sign * float(record["lower"]), sign * float(record["upper"])))
        mean, is_significant = sign * float(record["difference"]), bool(rival.p_value < LEVEL)
        found.append(Difference(rival.method, trials, mean, lower, upper, is_significant))
    return found


def _draw(found: list[Difference], metric: str, best: str) -> "Image":
    methods = [difference.method for difference in found]
    image, (axes,) = new_axes(
        ROW * len(methods) + 0.08,
        left=margin([shortened(method) for method in methods]),
        right=END,
        bottom=BOTTOM + LINE,
    )
    category_axis(axes, methods)
    axes.axvline(0, color=MUTED, linewidth=0.9)
    for place, difference in enumerate(found):
        count = len(difference.trials)
        spread = np.linspace(-0.2, 0.2, count) if count > 1 else np.zeros(count)
        axes.plot(difference.trials, place + spread, "o", color=SKY, markersize=2.6, alpha=0.8, markeredgewidth=0)
        color = VERMILLION if difference.is_significant else BLUE
        axes.plot(
            [difference.lower, difference.upper], [place, place], color=color, linewidth=1.6, solid_capstyle="butt"
        )
        axes.plot(
            [difference.mean],
            [place],
            "o",
            color=color,
            markerfacecolor=color if difference.is_significant else PAPER,
            markersize=5.5,
            markeredgewidth=1.4,
        )
    axes.margins(x=0.05)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(f"difference of the {literal(metric)}\nfrom {literal(shortened(best))}")
    return image


register(Differences())
