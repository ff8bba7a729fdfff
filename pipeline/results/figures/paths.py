"""`paths`: validation errors along the regularisation paths, the chosen values, and the certificates."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import (
    CHARACTER,
    MUTED,
    PAPER,
    WIDTH,
    literal,
    logarithmic,
    method_style,
    new_axes,
)
from kernel_pipeline.results.figures.weights import place_legend
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.metrics import METRICS, Metric

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Image

ERROR_HEIGHT, CERTIFICATE_HEIGHT = 1.5, 0.6
"""Heights of the panels in inches."""
GAP_WITHIN_GRID, GAP_BETWEEN_GRIDS = 0.1, 0.55
"""Distances between the panels of one grid and of different grids in inches."""
MIN_CERTIFICATE = 1e-17
"""Value at which smaller certificates are drawn, since the axis is logarithmic and some are zero."""

ABOUT_CERTIFICATES = (
    " The panels with certificates show the largest one over the trials, which states how far a solution is from the "
    "optimum. The dotted line of a one-stage method is its limit: solutions above it are not used."
)


class Paths(Figure):
    """One panel for all methods that share a grid of values; methods with certificates have a second panel."""

    name = "paths"

    def draw(self, results: Results) -> Iterator[Drawing]:
        finished = dict(results.finished_rows())
        for key, path in results.parts("path"):
            curves = _curves(path)
            if key not in finished or curves.empty:
                continue
            metric = METRICS[str(finished[key]["metric"].iloc[0])]
            yield Drawing(
                _draw(curves, finished[key], metric, results),
                "Regularisation paths",
                f"Mean {metric.error_title} on the validation fold for every regularisation value, at the best values "
                "of any other parameters. Markers show the chosen values; the size of a marker grows with the number "
                "of trials in which its value was chosen."
                + (ABOUT_CERTIFICATES if curves["certificate"].notna().any() else ""),
                *key,
            )


def _curves(path: pd.DataFrame) -> pd.DataFrame:
    """Return mean validation error and largest certificate by method and regularisation value."""
    best = path.groupby(["method", "repeat", "trial", "regularisation"], sort=False).agg(
        validation_error=("validation_error", "min"), certificate=("certificate", "max")
    )
    curves = best.groupby(["method", "regularisation"], sort=False).agg(
        validation_error=("validation_error", "mean"), certificate=("certificate", "max")
    )
    return curves.reset_index().sort_values(["method", "regularisation"], kind="stable")


def _grids(curves: pd.DataFrame, results: Results) -> list[list[str]]:
    """Return the methods of each grid of values, in the order of the config."""
    grids: dict[tuple[float, ...], list[str]] = {}
    for method in sorted(dict.fromkeys(curves["method"]), key=results.method_number):
        values = tuple(curves.loc[curves["method"] == method, "regularisation"])
        grids.setdefault(values, []).append(str(method))
    return list(grids.values())


def _draw(curves: pd.DataFrame, rows: pd.DataFrame, metric: Metric, results: Results) -> "Image":
    grids = _grids(curves, results)
    columns = max(1, int((WIDTH - 0.8) / (0.4 + CHARACTER * max(map(len, curves["method"])))))
    legend = 0.19 * max(-(-len(grid) // columns) for grid in grids)
    panels, gaps = [], []
    for grid in grids:
        panels += [ERROR_HEIGHT]
        gaps += [GAP_BETWEEN_GRIDS + legend]
        if _has_certificates(curves, grid):
            panels += [CERTIFICATE_HEIGHT]
            gaps[-1:] = [GAP_WITHIN_GRID, GAP_BETWEEN_GRIDS + legend]
    image, axes = new_axes(sum(panels), left=0.72, top=0.12 + legend, panels=panels, gaps=gaps[:-1])
    remaining = iter(axes)
    for grid in grids:
        panel = next(remaining)
        for method in grid:
            _draw_errors(panel, curves[curves["method"] == method], rows, method, results)
        panel.set_ylabel(f"validation {metric.axis_title}")
        panel.set_ylim(top=_error_limit(curves[curves["method"].isin(grid)], panel))
        panel.locator_params(axis="y", nbins=5)
        logarithmic(panel, "x", 2, 7)
        place_legend(panel, columns)
        if _has_certificates(curves, grid):
            panel.tick_params(axis="x", labelbottom=False)
            panel = next(remaining)
            for method in grid:
                _draw_certificates(panel, curves[curves["method"] == method], method, results)
            panel.set_ylabel("certificate")
            logarithmic(panel, "x", 2, 7)
            logarithmic(panel, "y", 10, 4)
        panel.set_xlabel("regularisation value")
    return image


def _error_limit(curves: pd.DataFrame, panel: "Axes") -> float:
    """Return the upper limit of the error axis; the largest fifth of the errors, often huge, may exceed it."""
    errors = curves["validation_error"].dropna()
    if errors.empty:
        return panel.get_ylim()[1]
    usual = float(errors.quantile(0.8))
    return min(panel.get_ylim()[1], usual + 0.35 * (usual - float(errors.min())) or 1.0)


def _has_certificates(curves: pd.DataFrame, methods: list[str]) -> bool:
    return bool(curves.loc[curves["method"].isin(methods), "certificate"].notna().any())


def _draw_errors(axes: "Axes", curve: pd.DataFrame, rows: pd.DataFrame, method: str, results: Results) -> None:
    style = method_style(results.method_number(method))
    values, errors = curve["regularisation"].to_numpy(), curve["validation_error"].to_numpy()
    axes.plot(values, errors, label=literal(method), **style | {"linewidth": 1.2, "marker": ""})
    chosen = rows.loc[rows["method"] == method, "regularisation"].value_counts(sort=False)
    for value, count in zip(chosen.index.astype(float), chosen, strict=True):
        at = errors[np.flatnonzero(values == value)]
        axes.plot(
            [value],
            at,
            markersize=4 + 5.5 * count / results.trials,
            markeredgewidth=0.6,
            markeredgecolor=PAPER,
            **style | {"linestyle": ""},
        )


def _draw_certificates(axes: "Axes", curve: pd.DataFrame, method: str, results: Results) -> None:
    style = method_style(results.method_number(method))
    certificates = np.maximum(curve["certificate"].to_numpy(dtype=float), MIN_CERTIFICATE)
    axes.plot(curve["regularisation"], certificates, markersize=3, **style | {"linewidth": 1})
    limit = results.max_certificate(method)
    if limit:
        axes.axhline(limit, color=MUTED, linewidth=0.9, linestyle=":")


register(Paths())
