"""Define the base class of figures, and their registry."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from kernel_pipeline.store.paths import FIGURES as FOLDER
from kernel_pipeline.tasks.registry import NamedRegistry

if TYPE_CHECKING:
    import matplotlib.figure

    from kernel_pipeline.results.view import Results

BUILT_IN: tuple[str, ...] = (
    "errors",
    "differences",
    "alignments",
    "ranks",
    "base_kernels",
    "weights",
    "stages_compared",
    "features",
    "paths",
    "kernel_alignments",
    "times",
)
"""Modules of `kernel_pipeline.results.figures`; each registers the figure of the same name."""
EXTENSIONS = ("svg", "png")


@dataclass(frozen=True)
class Drawing:
    """One image of a figure: of one dataset and problem, or of the whole run."""

    image: "matplotlib.figure.Figure"
    title: str
    caption: str
    """What the image shows, in full sentences."""
    dataset: str = ""
    """Name of the dataset; empty for an image of the whole run."""
    problem: str = ""


class Figure(ABC):
    """One figure, which a finished run writes to `figures/<name>*.svg` and `.png` after its tables.

    Subclasses set `name` and implement `draw`. An instance is added to the registry with `register`.
    """

    name: ClassVar[str]
    """Name of the figure, with which the names of its files begin."""
    max_problems: ClassVar[int | None] = 20
    """Largest number of pairs of a dataset and a problem that are drawn, in the order of the config; None for all."""
    version: ClassVar[int] = 1
    """Version of a figure that is not part of this package.

    Increase it when a change of the code gives another figure for the same results.
    """

    @abstractmethod
    def draw(self, results: "Results") -> Iterator[Drawing]:
        """Yield the images of the figure, none if there is nothing to show; equal results must give equal images.

        Images are created with `kernel_pipeline.results.figures.style.new_axes`.
        """


FIGURES: NamedRegistry[Figure] = NamedRegistry(
    "figure", tuple(f"kernel_pipeline.results.figures.{name}" for name in BUILT_IN)
)
register = FIGURES.add


def figure_stem(name: str, dataset: str = "", problem: str = "") -> str:
    """Return the key of an image without its extension.

    >>> figure_stem("ranks"), figure_stem("errors", "wave", "regression")
    ('figures/ranks', 'figures/errors-wave-regression')
    """
    return f"{FOLDER}/{'-'.join(part for part in (name, dataset, problem) if part)}"


def is_figure_file(key: str) -> bool:
    """Return whether a key is that of a file of a registered figure.

    >>> is_figure_file("figures/errors-wave-regression.svg"), is_figure_file("figures/holiday.png")
    (True, False)
    """
    folder, _, name = key.partition("/")
    stem, _, extension = name.rpartition(".")
    return folder == FOLDER and extension in EXTENSIONS and stem.partition("-")[0] in FIGURES
