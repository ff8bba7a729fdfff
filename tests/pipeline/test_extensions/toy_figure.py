"""A figure in one file: one bar per row."""

from kernel_pipeline.results.context import Results
from kernel_pipeline.results.figures.figure import Figure


class Bars(Figure):
    """Errors of all cells as bars."""

    name = "bars"

    def draw(self, results: Results) -> bytes:
        rows = results.table("rows")
        assert rows is not None
        bars = "".join(
            f'<rect x="{5 * number}" width="4" height="{100 * error:.3f}"/>'
            for number, error in enumerate(rows["error"].tolist())
        )
        rows["error"] = 0.0  # a copy: other figures and the tables do not see it
        return f'<svg xmlns="http://www.w3.org/2000/svg">{bars}</svg>\n'.encode()


FIGURE = Bars()
