"""Draw only one of the built-in figures, since drawing all of them takes longer than the rest of a small run."""

from collections.abc import ItemsView, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from kernel_pipeline.results.figures.figure import BUILT_IN, FIGURES, Figure

DRAWN = "errors"
MAIN = "from tests.helpers.few_figures import draw_few; draw_few(); from kernel_pipeline.cli.main import main; main()"
"""The command line with few figures, as code for a new process that finds the packages of this source tree."""
_all_items = FIGURES.items


def _few_items() -> ItemsView[str, Figure]:
    return {name: figure for name, figure in _all_items() if name == DRAWN or name not in BUILT_IN}.items()


def draw_few() -> None:
    """Draw few figures in this process from now on; all of them stay registered."""
    setattr(FIGURES, "items", _few_items)  # noqa: B010


@contextmanager
def all_figures() -> Iterator[None]:
    """Draw all figures within a block."""
    with patch.object(FIGURES, "items", _all_items):
        yield
