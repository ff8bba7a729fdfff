"""Figures: the protocol of all figures, and the registry to which new ones are added."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from kernel_pipeline.store.paths import FIGURES as FOLDER
from kernel_pipeline.tasks.registry import Registry

if TYPE_CHECKING:
    from kernel_pipeline.results.context import Results

BUILT_IN: tuple[str, ...] = ()
"""Modules of `kernel_pipeline.results.figures`; each registers the figure of its name."""


class Figure(ABC):
    """One figure, which a finished run writes to `figures/<name>.svg` after its tables.

    Subclasses set `name` and implement `draw`. An instance is added to the registry with `register`.
    """

    name: ClassVar[str]
    """Name of the figure, and of its file without the extension."""
    version: ClassVar[int] = 1
    """Version of a figure that is not part of this package; raise it when it changes for the same results."""

    @abstractmethod
    def draw(self, results: "Results") -> bytes:
        """Return the figure as SVG; the same results must give the same bytes."""


FIGURES: Registry[Figure] = Registry("figure", tuple(f"kernel_pipeline.results.figures.{name}" for name in BUILT_IN))


def register(figure: Figure) -> Figure:
    """Add a figure to the registry.

    Raises
    ------
    ValueError
        If the name is taken or is not an identifier.
    """
    if not figure.name.isidentifier():
        raise ValueError(f"the name of a figure is an identifier, which {figure.name!r} is not")
    return FIGURES.register(figure.name)(figure)


def figure_file(name: str) -> str:
    """Return the key of the file of a figure.

    >>> figure_file("errors")
    'figures/errors.svg'
    """
    return f"{FOLDER}/{name}.svg"
