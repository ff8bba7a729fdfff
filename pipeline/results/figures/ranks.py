"""`ranks`: critical-difference diagram of the mean ranks of methods over four or more datasets."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kernel_pipeline.results.figures.figure import Drawing, Figure, register
from kernel_pipeline.results.figures.style import CHARACTER, INK, MUTED, ROW, VERMILLION, WIDTH, new_axes, shortened
from kernel_pipeline.results.ranks import MIN_METHODS
from kernel_pipeline.results.view import Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Image

LEVEL = 0.05


class Ranks(Figure):
    """Mean ranks with Nemenyi's critical difference; methods that a bar connects cannot be distinguished."""

    name = "ranks"
    max_problems = None

    def draw(self, results: Results) -> Iterator[Drawing]:
        ranks = results.table("ranks")
        if ranks is None:
            return
        for problem, part in ranks.dropna(subset=["average_rank"]).groupby("task", sort=False):
            means = part.set_index("method")["average_rank"].sort_values(kind="stable")
            datasets, p_value = int(part["datasets"].iloc[0]), float(part["friedman_p"].iloc[0])
            if len(means) < MIN_METHODS or means.nunique() < 2:
                continue
            yield Drawing(
                draw_ranks(means, critical_difference(len(means), datasets)),
                f"Ranks over all datasets: {problem}",
                f"Mean rank of each method by its error over {datasets} datasets; 1 is best. Bars connect methods "
                "whose ranks differ by less than Nemenyi's critical difference (CD) at level 0.05. The Friedman test "
                f"of equal ranks has p = {p_value:.2g}. Methods without a result on some dataset are left out.",
                problem=str(problem),
            )


def critical_difference(methods: int, datasets: int) -> float:
    """Return Nemenyi's critical difference of the mean ranks of a number of methods over a number of datasets.

    >>> round(critical_difference(5, 30), 3)
    1.114
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(1 - LEVEL, methods, np.inf)) / np.sqrt(2)
    return float(q * np.sqrt(methods * (methods + 1) / (6 * datasets)))


def groups(ranks: Sequence[float], critical: float) -> list[tuple[int, int]]:
    """Return the first and last index of each maximal group of ranks that differ by less than the critical difference.

    >>> groups([1.0, 1.5, 3.0, 3.2], 1.0)
    [(0, 1), (2, 3)]
    """
    found: list[tuple[int, int]] = []
    for first in range(len(ranks)):
        last = max(place for place in range(first, len(ranks)) if ranks[place] - ranks[first] < critical)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def draw_ranks(means: pd.Series, critical: float) -> "Image":
    """Draw the diagram: an axis of ranks, one bar per group, and one labelled line per method."""
    count, ranks = len(means), means.to_numpy()
    bars = groups(list(ranks), critical)
    half = (count + 1) // 2
    label = 0.1 + CHARACTER * max(len(shortened(str(name))) + 6 for name in means.index)
    height = 0.5 + 0.12 * len(bars) + ROW * half
    image, (axes,) = new_axes(height, left=0.12, right=0.12, top=0.1, bottom=0.05)
    axes.set_axis_off()
    axes.set_xlim(0, WIDTH - 0.24)
    axes.set_ylim(height, 0)
    low, high = np.floor(ranks[0]), np.ceil(ranks[-1])
    start, stop = label, WIDTH - 0.24 - label

    def place(rank: float) -> float:
        return float(start + (rank - low) / (high - low) * (stop - start))

    axes.plot([start, stop], [0.42, 0.42], color=INK, linewidth=0.9)
    for rank in np.arange(low, high + 1):
        axes.plot([place(rank)] * 2, [0.36, 0.42], color=INK, linewidth=0.9)
        axes.text(place(rank), 0.32, f"{rank:.0f}", ha="center", va="bottom")
    if critical < high - low:
        axes.plot([start, place(low + critical)], [0.08, 0.08], color=VERMILLION, linewidth=1.6)
        axes.text(place(low + critical) + 0.06, 0.08, f"CD = {critical:.2f}", va="center", color=VERMILLION)
    for number, (first, last) in enumerate(bars):
        y = 0.52 + 0.12 * number
        axes.plot([place(ranks[first]) - 0.03, place(ranks[last]) + 0.03], [y, y], color=INK, linewidth=3)
    below = 0.55 + 0.12 * len(bars)
    for number, (name, rank) in enumerate(means.items()):
        is_left = number < half
        y = below + ROW * (number if is_left else count - 1 - number)
        edge = start - 0.08 if is_left else stop + 0.08
        axes.plot([place(rank), place(rank), edge], [0.42, y, y], color=MUTED, linewidth=0.7)
        text = f"{shortened(str(name))}  {rank:.2f}" if is_left else f"{rank:.2f}  {shortened(str(name))}"
        axes.text(
            edge + (-0.05 if is_left else 0.05),
            y,
            text,
            ha="right" if is_left else "left",
            va="center",
            fontweight="bold" if number == 0 else "normal",
        )
    return image


register(Ranks())
