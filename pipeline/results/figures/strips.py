"""Draw one line per method, with a point for every trial and the mean, for errors and alignments."""

import math
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kernel_pipeline.results.figures.style import (
    BLUE,
    CHARACTER,
    INK,
    MUTED,
    ROW,
    VERMILLION,
    category_axis,
    margin,
    new_axes,
    shortened,
)
from kernel_pipeline.results.numbers import decimals_for, format_number
from kernel_pipeline.results.rounding import ROUNDING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SPREAD = 0.22
"""Largest distance of a point from the line of its method, so that trials with equal values remain visible."""


def draw_strips(rows: pd.DataFrame, column: str, label: str, smallest_is_best: bool) -> "Figure | None":
    """Draw the values of a column by method, the best mean first; None if there are no values."""
    found = rows.dropna(subset=[column])
    means = found.groupby("method", sort=False)[column].mean().sort_values(ascending=smallest_is_best, kind="stable")
    if means.empty:
        return None
    methods, decimals = [str(method) for method in means.index], decimals_for(means.to_numpy())
    texts = [format_number(mean, decimals) for mean in means]
    right = 0.25 + CHARACTER * max(map(len, texts))
    image, (axes,) = new_axes(
        ROW * len(methods) + 0.08, left=margin([shortened(m) for m in methods]), right=right, top=0.3
    )
    best = [math.isclose(mean, means.iloc[0], rel_tol=ROUNDING) for mean in means]
    category_axis(axes, methods, best)
    for place, (method, mean, is_best) in enumerate(zip(methods, means, best, strict=True)):
        values = found.loc[found["method"] == method, column].to_numpy()
        axes.plot(
            values,
            place + np.linspace(-SPREAD, SPREAD, len(values)) if len(values) > 1 else [place],
            "o",
            color=VERMILLION if is_best else BLUE,
            alpha=0.65,
            markersize=4,
            markeredgewidth=0,
        )
        axes.plot([mean], [place], "|", color=INK, markersize=13, markeredgewidth=1.6)
        axes.text(
            1 + 0.12 / 3,
            place,
            texts[place],
            transform=axes.get_yaxis_transform(),
            va="center",
            fontweight="bold" if is_best else "normal",
        )
    axes.text(1 + 0.12 / 3, 1.02, "mean", transform=axes.transAxes, va="bottom", color=MUTED)
    axes.margins(x=0.06)
    axes.locator_params(axis="x", nbins=5)
    axes.set_xlabel(label)
    return image
