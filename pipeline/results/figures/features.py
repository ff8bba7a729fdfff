"""`features`: for datasets with many kernels, the strongest ones by name, and the weights of all by rank."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import (
    BLUE,
    MUTED,
    ROW,
    SLATE,
    VERMILLION,
    category_axis,
    literal,
    logarithmic,
    margin,
    method_style,
    new_axes,
    shortened,
)
from kernel_pipeline.results.figures.weights import MAX_KERNELS
from kernel_pipeline.results.view import Key, Results
from kernel_pipeline.tasks.arrays import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image

MAX_NAMED = 15
"""Maximum number of kernels that are shown by name."""
PREFERRED_METHODS = ("alignf", "align")
"""Methods whose strongest kernels are shown; a run without them shows the first method with weights."""
MAX_POINTS = 120
"""Maximum number of points of a curve, which may have thousands of ranks."""

ABOUT_DIRECTION = (
    " Colour and sign show the direction, which is the sign of the covariance of the feature with the label."
)


class Features(Figure):
    """Mean weights over the trials, strongest first."""

    name = "features"

    def draw(self, results: Results) -> Iterator[Drawing]:
        directions = _directions(results)
        for key in results.problems:
            kernels = results.kernels(key[0])
            weights = results.mean_weights(*key) if len(kernels) > MAX_KERNELS else {}
            if weights:
                method = next((name for name in PREFERRED_METHODS if name in weights), next(iter(weights)))
                signs = directions.get(key, {})
                yield Drawing(
                    _draw(kernels, weights, method, signs, results),
                    f"Strongest kernels of {method}",
                    f"Top: the {min(MAX_NAMED, len(kernels))} largest of {len(kernels):,} mean weights of {method}."
                    f"{ABOUT_DIRECTION if signs else ''} Bottom: the positive mean weights of each method in "
                    "descending order, on logarithmic axes.",
                    *key,
                )


def _directions(results: Results) -> dict[Key, dict[str, int]]:
    """Return the directions of kernels by name, if the run has a table of weights with them."""
    found: dict[Key, dict[str, int]] = {}
    for key, rows in results.parts("weights"):
        if "direction" in rows:
            known = rows.dropna(subset=["direction"]).drop_duplicates("kernel")
            pairs = zip(known["kernel"], known["direction"].astype(float), strict=True)
            found[key] = {str(kernel): int(np.sign(direction)) for kernel, direction in pairs}
    return found


def _draw(
    kernels: Sequence[str], weights: Mapping[str, Floats], method: str, signs: Mapping[str, int], results: Results
) -> "Image":
    order = np.argsort(-weights[method], kind="stable")[:MAX_NAMED]
    names = [kernels[k] for k in order]
    bars, curve = ROW * 0.85 * len(names), 1.5
    labels = [f"{_sign(signs.get(name))}{shortened(name, 24)}" for name in names]
    image, (top, below) = new_axes(
        bars + curve,
        left=max(margin(labels), 0.62),
        top=0.12,
        panels=(bars, curve),
        gaps=[0.75 + 0.19 * (len(weights) > 3)],
    )
    colors = [{1: BLUE, -1: VERMILLION}.get(signs.get(name, 0), SLATE) for name in names]
    top.barh(range(len(names)), weights[method][order], height=0.62, color=colors)
    category_axis(top, labels)
    top.locator_params(axis="x", nbins=5)
    top.set_xlabel(f"weight of {literal(method)}")
    for name, values in weights.items():
        ranked = np.sort(values[values > 0])[::-1]
        if len(ranked):
            places = np.unique(np.geomspace(1, len(ranked), MAX_POINTS).astype(int))
            style = method_style(results.method_number(name)) | {"marker": ""}
            below.plot(places, ranked[places - 1], label=literal(name), **style)
    logarithmic(below, "x", 10, 6)
    logarithmic(below, "y", 10, 5)
    below.set(xlabel="rank of the kernel by weight", ylabel="weight")
    below.axvline(len(names), color=MUTED, linewidth=0.7, linestyle=":")
    below.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=3, columnspacing=1.2, handlelength=1.6)
    return image


def _sign(direction: int | None) -> str:
    return {1: "+ ", -1: "− "}.get(direction or 0, "")


register(Features())
