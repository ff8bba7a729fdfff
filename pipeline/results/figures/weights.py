"""`weights`: mean weight of each base kernel by method, for datasets with few kernels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.kernel_order import are_ordered
from kernel_pipeline.results.figures.style import (
    CHARACTER,
    MUTED,
    PAPER,
    WIDTH,
    literal,
    method_style,
    new_axes,
)
from kernel_pipeline.results.numbers import superscripts
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Image

MAX_KERNELS = 40
"""Largest number of kernels on one axis; the figure `features` shows more."""


class Weights(Figure):
    """Weights of the trace-one kernels; one-stage methods have open markers."""

    name = "weights"

    def draw(self, results: Results) -> Iterator[Drawing]:
        for dataset, problem in results.problems:
            kernels = results.kernels(dataset)
            if not 1 < len(kernels) <= MAX_KERNELS:
                continue
            weights = results.mean_weights(dataset, problem)
            if weights:
                yield Drawing(
                    _draw(kernels, weights, results),
                    "Weights of the base kernels",
                    "Mean over the trials of the weight of each base kernel, which is scaled to trace one. Filled "
                    "markers: two-stage methods. Open markers: one-stage methods.",
                    dataset,
                    problem,
                )


def _draw(kernels: Sequence[str], weights: Mapping[str, Floats], results: Results) -> "Image":
    columns = max(1, int((WIDTH - 0.7) / (0.34 + CHARACTER * max(map(len, weights)))))
    lines = -(-len(weights) // columns)
    names, axis = short_names(kernels)
    names = [shortened_kernel(name, 20) for name in names]
    longest = max(map(len, names))
    slanted = longest * CHARACTER > (WIDTH - 0.7) / len(names)
    bottom = 0.45 + (CHARACTER * longest * 0.8 if slanted else 0.1)
    left = max(0.64, 0.1 + 0.65 * CHARACTER * len(names[0])) if slanted else 0.64  # the first label ends below its tick
    image, (axes,) = new_axes(2.1, left=left, top=0.12 + 0.19 * lines, bottom=bottom)
    connection = {} if are_ordered(kernels) else {"linestyle": ""}
    for method, values in weights.items():
        style = method_style(results.method_number(method)) | connection
        is_open = results.is_one_stage(method)
        face = {"markerfacecolor": PAPER, "markeredgewidth": 1.3} if is_open else {"markeredgewidth": 0}
        axes.plot(range(len(values)), values, markersize=5, linewidth=1, label=literal(method), **style, **face)
    axes.axhline(0, color=MUTED, linewidth=0.7)
    axes.set_xticks(range(len(names)), [literal(name) for name in names])
    if slanted:
        axes.tick_params(axis="x", rotation=50)
        for label in axes.get_xticklabels():
            label.set(horizontalalignment="right", rotation_mode="anchor")
    axes.grid(axis="x", visible=False)
    axes.margins(x=0.03)
    axes.set_xlabel(literal(axis))
    axes.set_ylabel("weight")
    place_legend(axes, columns)
    return image


def place_legend(axes: "Axes", columns: int) -> None:
    """Put the legend above the axes."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1.02),
        ncols=columns,
        columnspacing=1.2,
        labelspacing=0.25,
        handlelength=1.6,
    )


def short_names(kernels: Sequence[str]) -> tuple[list[str], str]:
    """Abbreviate kernel names for the ticks of an axis, and return the part that they share as the label of the axis.

    The names are abbreviated as texts, whatever family they belong to: if all of them have the same text before the
    first parenthesis, and end with one, this text and the parentheses are left out.

    >>> short_names(["gaussian(2^-9)", "gaussian(2^-8)"])
    (['2⁻⁹', '2⁻⁸'], 'gaussian')
    >>> short_names(["gaussian(2^-9)", "linear"])
    (['gaussian(2⁻⁹)', 'linear'], 'base kernel')
    """
    kernels = [superscripts(kernel) for kernel in kernels]
    beginnings = {kernel.partition("(")[0] for kernel in kernels}
    if len(beginnings) == 1 and all(kernel.endswith(")") and "(" in kernel for kernel in kernels):
        (beginning,) = beginnings
        return [kernel.partition("(")[2][:-1] for kernel in kernels], beginning
    return kernels, "base kernel"


def shortened_kernel(name: str, limit: int) -> str:
    """Shorten a long kernel name in the middle, since its end distinguishes kernels.

    The text from the last opening parenthesis on is kept if it is short, and is not interpreted.

    >>> shortened_kernel("numbers:gaussian(median)", 20), shortened_kernel("linear", 20)
    ('numbers:gau…(median)', 'linear')
    >>> shortened_kernel("polynomial(degree=2, gamma=0.5, coef0=1)", 20)
    'polynomi…5, coef0=1)'
    """
    if len(name) <= limit:
        return name
    parameters = len(name) - name.rfind("(")
    kept = parameters if parameters <= limit // 2 else 11
    return f"{name[: limit - 1 - kept]}…{name[-kept:]}"


register(Weights())
