"""A figure in one file: one bar per row."""

from collections.abc import Iterator

from kernel_pipeline.results.figures.figure import Drawing, Figure
from kernel_pipeline.results.figures.style import BLUE, new_axes
from kernel_pipeline.results.view import Results


class Bars(Figure):
    """Errors of all cells as bars."""

    name = "bars"

    def draw(self, results: Results) -> Iterator[Drawing]:
        rows = results.table("rows")
        assert rows is not None
        image, (axes,) = new_axes(height=2)
        axes.bar(range(len(rows)), rows["error"], color=BLUE)
        rows["error"] = 0.0  # a copy: other figures and the tables do not see it
        yield Drawing(image, "Errors", "One bar per cell.")


FIGURE = Bars()
