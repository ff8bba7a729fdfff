"""`base_kernels`: alignment against accuracy of the base kernels, centered and uncentered (Figure 2 of the paper)."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pandas as pd

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.kernel_order import are_ordered
from kernel_pipeline.results.figures.style import BLUE, END, ORANGE, literal, new_axes
from kernel_pipeline.results.figures.thinning import MAX_POINTS, thinned
from kernel_pipeline.results.figures.weights import short_names
from kernel_pipeline.results.view import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image

MAX_KERNELS_IN_ORDER = 20
"""Largest number of kernels with names at the first and the last one, and with a line if they are ordered."""
SERIES: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("alignment_train", "centered", {"color": BLUE, "marker": "o"}),
    ("uncentered_alignment_train", "uncentered", {"color": ORANGE, "marker": "^"}),
)


ABOUT_THINNING = " Of kernels whose points would cover each other, only the first one is drawn."


class BaseKernels(Figure):
    """Means over the trials of alignment and accuracy of each base kernel that was fitted separately."""

    name = "base_kernels"

    def draw(self, results: Results) -> Iterator[Drawing]:
        correlations = {key: rows.iloc[0] for key, rows in results.parts("correlation")}
        for key, rows in results.parts("kernels"):
            if "error" not in rows or key not in correlations:
                continue
            means = rows.dropna(subset=["error"]).groupby("kernel", sort=False).mean(numeric_only=True)
            yield Drawing(
                _draw(means, key[1], correlations[key]),
                "Alignment and accuracy of the base kernels",
                "One point per base kernel: its alignment on the training set, and the accuracy (1 - error; for a "
                "regression, the error) on the test fold of a predictor that uses this kernel alone; both are means "
                "over the trials. ρ is the correlation of alignment and accuracy (Table 1 and Figure 2 of the paper)."
                + (ABOUT_THINNING if len(means) > MAX_POINTS else ""),
                *key,
            )


def _draw(means: pd.DataFrame, problem: str, correlation: pd.Series) -> "Image":
    image, (axes,) = new_axes(2.3, left=0.75, right=END, top=0.32)
    # An RMSE has the unit of the labels, so that 1 - RMSE would be negative for most data.
    performance = means["error"] if problem == "regression" else 1 - means["error"]
    kernels = [str(kernel) for kernel in means.index]
    is_connected = len(kernels) <= MAX_KERNELS_IN_ORDER and are_ordered(kernels)
    for column, title, style in SERIES:
        found = correlation[title]
        label = title if pd.isna(found) else f"{title}, ρ = {found:.2f}"
        style = style | {"linestyle": "-" if is_connected else ""}
        shown = thinned(performance.to_numpy(), means[column].to_numpy())
        axes.plot(
            performance.iloc[shown],
            means[column].iloc[shown],
            linewidth=0.6,
            alpha=0.85,
            markersize=5.5,
            markeredgewidth=0,
            label=label,
            **style,
        )
    if len(kernels) <= MAX_KERNELS_IN_ORDER:
        names, _ = short_names(kernels)
        for place in (0, -1):  # labels at both ends are enough if the kernels are ordered, and more would overlap
            axes.annotate(
                literal(names[place]),
                (performance.iloc[place], means["alignment_train"].iloc[place]),
                xytext=(0, -12),
                textcoords="offset points",
                ha="center",
                color=BLUE,
            )
    axes.margins(x=0.1, y=0.12)
    if problem == "regression":
        axes.invert_xaxis()
    axes.set_xlabel("error (smaller to the right)" if problem == "regression" else "accuracy (1 - error)")
    axes.set_ylabel("alignment on the training set")
    axes.locator_params(axis="x", nbins=6)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.02), ncols=2, columnspacing=1.2, handlelength=1.2)
    return image


register(BaseKernels())
