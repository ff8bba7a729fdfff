"""`stages_compared`: weights of one-stage methods against those of the two-stage `alignf` (Figure 3 of the paper)."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import MUTED, PAPER, literal, method_style, new_axes
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.arrays import Floats, Integers

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image

REFERENCE = "alignf"
"""The two-stage method of the paper's figure."""
MAX_POINTS = 200
"""Largest number of kernels that are shown; if there are more, only the strongest are."""


class StagesCompared(Figure):
    """One point per base kernel and one-stage method."""

    name = "stages_compared"

    def draw(self, results: Results) -> Iterator[Drawing]:
        for dataset, problem in results.problems:
            weights = results.mean_weights(dataset, problem)
            one_stage = {method: values for method, values in weights.items() if results.is_one_stage(method)}
            if one_stage and REFERENCE in weights and len(weights[REFERENCE]) > 1:
                shown = _strongest([weights[REFERENCE], *one_stage.values()])
                count = len(weights[REFERENCE])
                limited = (
                    f" Only the {MAX_POINTS} strongest of {count:,} kernels are shown." if count > MAX_POINTS else ""
                )
                yield Drawing(
                    _draw(
                        weights[REFERENCE][shown], {name: values[shown] for name, values in one_stage.items()}, results
                    ),
                    "One-stage and two-stage weights",
                    f"One point per base kernel: its mean weight from the two-stage method {REFERENCE}, and from "
                    "one-stage methods. Points on the diagonal have the same weight (Figure 3 of the paper)." + limited,
                    dataset,
                    problem,
                )


def _strongest(weights: list[Floats]) -> Integers:
    """Return the kernels with the largest weights of any method."""
    return np.sort(np.argsort(-np.max(weights, axis=0), kind="stable")[:MAX_POINTS])


def _draw(reference: Floats, one_stage: Mapping[str, Floats], results: Results) -> "Image":
    many = len(reference) > 50
    image, (axes,) = new_axes(2.4, left=0.62, top=0.34)
    largest = max(float(values.max()) for values in (reference, *one_stage.values()))
    axes.plot([0, largest], [0, largest], color=MUTED, linewidth=0.8, zorder=1)
    for method, values in one_stage.items():
        style = method_style(results.method_number(method)) | {"linestyle": ""}
        axes.plot(
            reference,
            values,
            markersize=2.5 if many else 5.5,
            markerfacecolor=style["color"] if many else PAPER,
            markeredgewidth=0 if many else 1.3,
            alpha=0.5 if many else 1,
            label=literal(method),
            **style,
        )
    axes.margins(0.06)
    axes.set_xlabel(f"weight of {REFERENCE} (two-stage)")
    axes.set_ylabel("weight of the one-stage method")
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=3, columnspacing=1.4, markerscale=2 if many else 1)
    return image


register(StagesCompared())
