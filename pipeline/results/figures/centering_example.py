"""Draw the paper's Figure 1: why alignment has to be centered. It does not depend on a run."""

from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.results.figures.style import BLUE, INK, VERMILLION, new_axes, style
from kernel_pipeline.tasks.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def example_alignments(alpha: Floats) -> tuple[Floats, Floats]:
    """Return the uncentered and the centered alignment of `K(x, x') = x.x' + 1` with the labels in the paper's example.

    A share alpha of the points is at (-1, 0) with the label -1, and the others are at (1, 0) with the label +1, as in
    Figure 1 of the paper. The centered alignment is not defined if all points are the same.

    >>> uncentered, centered = example_alignments(np.array([0.5, 0.9]))
    >>> uncentered.round(3).tolist(), centered.tolist()
    ([0.707, 0.906], [1.0, 1.0])
    """
    uncentered = np.sqrt(alpha**2 + (1 - alpha) ** 2)
    return uncentered, np.where((alpha > 0) & (alpha < 1), 1.0, np.nan)


def draw_centering_example() -> "Figure":
    """Return the paper's Figure 1: the points at the top, and below them both alignments as functions of alpha.

    Examples
    --------
    >>> import kernel_pipeline as kp
    >>> kp.draw_centering_example().savefig("centering.pdf")  # doctest: +SKIP
    """
    with style():
        image, (points, curves) = new_axes(2.9, left=0.62, panels=(0.9, 2.0), gaps=[0.45])
        for x, marker, color, text in ((-1, "s", VERMILLION, "α, label −1"), (1, "o", BLUE, "1 − α, label +1")):
            points.plot([x], [0], marker, color=color, markersize=9)
            points.annotate(text, (x, 0), xytext=(0, 11), textcoords="offset points", ha="center")
        points.axvline(0, color=INK, linewidth=0.7)
        points.axhline(0, color=INK, linewidth=0.7)
        points.set(xlim=(-2, 2), ylim=(-1, 1.4), xticks=[-1, 0, 1], yticks=[])
        points.grid(visible=False)
        alpha = np.linspace(0, 1, 101)
        uncentered, centered = example_alignments(alpha)
        curves.plot(alpha, centered, color=BLUE, linestyle="--")
        curves.plot(alpha, uncentered, color=INK)
        curves.annotate("centered ρ", (0.5, 1), xytext=(0, 4), textcoords="offset points", ha="center", color=BLUE)
        curves.annotate("uncentered A", (0.5, np.sqrt(0.5)), xytext=(0, -11), textcoords="offset points", ha="center")
        curves.set(xlim=(0, 1), ylim=(0.6, 1.08), xlabel="α", ylabel="alignment")
    return image
