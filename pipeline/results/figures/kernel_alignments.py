"""`kernel_alignments`: centered alignment of every base kernel with every other one, as a heat map."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import CHARACTER, WIDTH, literal, new_axes
from kernel_pipeline.results.figures.weights import short_names, shortened_kernel
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image

MAX_KERNELS = 100
"""Largest number of kernels that are drawn; the squares of more would be too small to see."""
MAX_NUMBERS = 8
"""Largest number of kernels whose alignments are also written as numbers."""
MAX_LABELS = 25


class KernelAlignments(Figure):
    """The matrix M, rescaled so that its diagonal is one; the mean over the trials."""

    name = "kernel_alignments"

    def draw(self, results: Results) -> Iterator[Drawing]:
        for dataset, problem in results.problems:
            kernels = results.kernels(dataset)
            if not 1 < len(kernels) <= MAX_KERNELS:
                continue
            aligned = results.kernel_alignments(dataset, problem)
            if aligned is not None:
                yield Drawing(
                    draw_alignments(kernels, aligned),
                    "Alignment of the base kernels with each other",
                    "Centered alignment of each pair of base kernels on the training set, the mean over the trials: 1 "
                    "for kernels that differ only by a factor and a constant. These alignments are not debiased: even "
                    "those of unrelated kernels are positive on average.",
                    dataset,
                    problem,
                )


def draw_alignments(kernels: Sequence[str], aligned: Floats) -> "Image":
    """Draw the alignments of all pairs of kernels, (p, p), as a heat map; those that are not defined are empty."""
    names, axis = short_names(kernels)
    shown = [literal(shortened_kernel(name, 18)) for name in names]
    step = -(-len(names) // MAX_LABELS)
    width = CHARACTER * max(map(len, shown))
    left = 0.42 + width
    side = min(WIDTH - left - 0.85, 3.1)
    slanted = width > side / len(names[::step])
    image, (axes,) = new_axes(
        side, left=left, right=WIDTH - left - side, bottom=0.42 + (width * 0.8 if slanted else 0.12)
    )
    lowest = min(0.0, float(np.nanmin(aligned)))
    colours = axes.imshow(aligned, cmap="cividis", vmin=lowest, vmax=1, interpolation="none", aspect="equal")
    places = range(0, len(names), step)
    axes.set_xticks(places, shown[::step], rotation=50 if slanted else 0, ha="right" if slanted else "center")
    axes.set_yticks(places, shown[::step])
    axes.tick_params(length=0)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlabel(literal(axis))
    if len(names) <= MAX_NUMBERS:
        for row, column in np.ndindex(aligned.shape):
            value = aligned[row, column]
            if np.isfinite(value):
                dark = value < lowest + 0.55 * (1 - lowest)
                text = f"{value:.2f}".replace("0.", ".") if value < 0.995 else "1"
                color = "#fffffe" if dark else "#000001"  # a dark page replaces PAPER and INK, but not these
                axes.text(column, row, text, ha="center", va="center", fontsize=7.5, color=color)
    box = axes.get_position()
    bar = image.add_axes((box.x1 + 0.12 / WIDTH, box.y0, 0.1 / WIDTH, box.height))
    image.colorbar(colours, cax=bar)
    bar.tick_params(length=0)
    bar.grid(visible=False)
    bar.spines["outline"].set_visible(False)
    return image


register(KernelAlignments())
