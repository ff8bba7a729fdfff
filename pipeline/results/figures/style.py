"""Define the style of all figures: colours, markers, fonts, and axes with fixed margins.

The colours are those of Okabe and Ito, which colour-blind readers can distinguish, without yellow, which is too light
for paper. Whatever a colour distinguishes also differs in its marker or is labelled.
"""

import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kernel_pipeline.results.numbers import superscripts

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PAPER, INK, MUTED, GRID = "#ffffff", "#23282d", "#6b737b", "#e4e7ea"
BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, SLATE = PALETTE = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#5a6570",
)
MARKERS = ("o", "s", "D", "^", "v", "P", "X", "<", ">", "h", "p")
"""The numbers of markers and of colours are coprime, so that combinations of both repeat only after 77 methods."""
LINES: tuple[str, ...] = ("-", "--", "-.", ":")

WIDTH = 4.0
"""Width of images in inches; they are legible on a phone and in one column of a paper."""
ROW = 0.235
"""Height of one line of text in inches."""
FONT_SIZE = 8.5
TOP, BOTTOM, RIGHT = 0.14, 0.5, 0.14
"""Default margins in inches: at the top without a title, at the bottom with labels of the x axis, at the right."""
LINE = FONT_SIZE / 72 * 1.2
"""Height of one more line of a label in inches."""
END = 0.25
"""Margin in inches at an end of the x axis that may have a number."""
CHARACTER = FONT_SIZE / 72 * 0.6
"""Mean width of a character in inches."""
PIXELS_PER_INCH = 200

SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.labelsize": FONT_SIZE,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": FONT_SIZE,
    "axes.unicode_minus": True,
    "figure.dpi": 100,
    "figure.facecolor": PAPER,
    "font.family": ["DejaVu Sans"],
    "font.size": FONT_SIZE,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "legend.borderaxespad": 0,
    "legend.fontsize": FONT_SIZE,
    "legend.frameon": False,
    "legend.handletextpad": 0.4,
    "lines.linewidth": 1.4,
    "lines.markersize": 4.5,
    "path.simplify": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "kernel-pipeline",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": FONT_SIZE,
    "xtick.major.size": 3,
    "xtick.major.width": 0.6,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": FONT_SIZE,
    "ytick.major.size": 3,
    "ytick.major.width": 0.6,
}


@contextmanager
def style() -> Iterator[None]:
    """Use the settings of all figures, whatever the user's own settings are, while figures are drawn and saved."""
    import matplotlib as mpl

    # The backend is not used, and resetting it would import the module of the user's backend.
    defaults: dict[Any, Any] = {
        name: value for name, value in mpl.rcParamsDefault.items() if not name.startswith("backend")
    }
    with mpl.rc_context(defaults | SETTINGS), warnings.catch_warnings():
        # Letters that the font lacks are boxes in PNG files; SVG files use the fonts of the reader.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        yield


def new_axes(
    height: float,
    left: float = 0.55,
    right: float = RIGHT,
    top: float = TOP,
    bottom: float = BOTTOM,
    panels: Sequence[float] = (1.0,),
    gaps: Sequence[float] = (),
) -> "tuple[Figure, list[Axes]]":
    """Return an image and its axes, one below the other.

    Margins are parameters, since computing them from the content would require a second drawing pass.

    Parameters
    ----------
    height
        Height of all axes together in inches.
    left, right, top, bottom
        Margins in inches.
    panels
        Shares of the height of the axes, from top to bottom.
    gaps
        Distances between consecutive axes in inches.
    """
    from matplotlib.figure import Figure

    whole = top + height + sum(gaps) + bottom
    image = Figure((WIDTH, whole))
    axes, edge = [], whole - top
    for share, gap in zip(panels, (*gaps, 0.0), strict=True):
        size = height * share / sum(panels)
        edge -= size
        axes.append(image.add_axes((left / WIDTH, edge / whole, (WIDTH - left - right) / WIDTH, size / whole)))
        edge -= gap
    return image, axes


def margin(labels: Sequence[str], extra: float = 0.16) -> float:
    """Return the margin in inches that labels beside an axis need."""
    return extra + CHARACTER * max(map(len, labels), default=0)


def shortened(text: str, limit: int = 26) -> str:
    """Return a label, truncated to fit beside an axis.

    >>> shortened("gaussian(2^-9)"), shortened("a" * 40)
    ('gaussian(2^-9)', 'aaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def category_axis(axes: "Axes", labels: Sequence[str], strong: Sequence[bool] = ()) -> None:
    """Label the y axis with one line per category, the first at the top."""
    axes.set_yticks(range(len(labels)), [literal(shortened(label)) for label in labels])
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.tick_params(axis="y", length=0, pad=6)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="y", visible=False)
    for text, is_strong in zip(axes.get_yticklabels(), strong, strict=False):
        text.set_fontweight("bold" if is_strong else "normal")


def literal(text: str) -> str:
    """Return text that is drawn literally: dollar signs are escaped, and control characters are replaced.

    >>> literal("10$ bill")
    '10\\\\$ bill'
    """
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in text).replace("$", r"\$")


def logarithmic(axes: "Axes", which: str, base: int, ticks: int) -> None:
    """Make an axis logarithmic, with powers as plain text, since math text would take most of the drawing time."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    getattr(axes, f"set_{which}scale")("log", base=base)
    axis = getattr(axes, f"{which}axis")
    axis.set_major_locator(LogLocator(base, numticks=ticks))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: superscripts(f"{base}^{round(math.log(value, base))}")))


def method_style(number: int) -> dict[str, Any]:
    """Return colour, marker and line style of a method by its number (`Results.method_number`)."""
    return {
        "color": PALETTE[number % len(PALETTE)],
        "marker": MARKERS[number % len(MARKERS)],
        "linestyle": LINES[number // len(PALETTE) % len(LINES)],
    }
