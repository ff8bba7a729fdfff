"""No text of a figure is cut off at the edge of its image, and markers do not cover their panel."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure as Image
from matplotlib.text import Text

from kernel_pipeline.results.figures import base_kernels, differences
from kernel_pipeline.results.figures.figure import FIGURES
from kernel_pipeline.results.figures.paths import Paths
from kernel_pipeline.results.figures.style import style
from kernel_pipeline.results.view import Results
from kernel_pipeline.tasks.metrics import METRICS
from tests.helpers.drawn import context_of, drawn_config
from tests.helpers.few_figures import all_figures
from tests.helpers.sweeps import run_here
from tests.pipeline.results.conftest import Drawn

TOLERANCE = 0.5
"""Largest distance in pixels by which a text may exceed its image."""


def cut_texts(image: Image) -> list[str]:
    """Return the texts that exceed an image; numbers of ticks outside of the limits of an axis are not drawn."""
    FigureCanvasAgg(image)
    image.draw_without_rendering()
    hidden = set(map(id, undrawn_labels(image)))
    found = []
    for text in image.findobj(Text):
        assert isinstance(text, Text)
        if text.get_text() and text.get_visible() and id(text) not in hidden:
            box = text.get_window_extent()
            inside = image.bbox.padded(TOLERANCE)
            if box.x0 < inside.x0 or box.x1 > inside.x1 or box.y0 < inside.y0 or box.y1 > inside.y1:
                found.append(text.get_text())
    return found


def undrawn_labels(image: Image) -> Iterator[Text]:
    for axes in image.axes:
        for axis in (axes.xaxis, axes.yaxis):
            low, high = sorted(axis.get_transform().transform(np.array(axis.get_view_interval())))
            for tick in axis.get_major_ticks():
                if not low - 1e-9 <= axis.get_transform().transform(np.array([tick.get_loc()]))[0] <= high + 1e-9:
                    yield from (tick.label1, tick.label2)


def test_no_text_of_a_run_is_cut(drawn: Drawn) -> None:
    results = Results(context_of(*drawn))
    with style(), all_figures():
        for name, figure in FIGURES.items():
            for drawing in figure.draw(results):
                assert cut_texts(drawing.image) == [], (name, drawing.dataset)


@pytest.mark.parametrize("metric", list(METRICS))
@pytest.mark.parametrize("best", ["best-single", "alignf-linear", "a-method-with-a-name-that-is-long"])
def test_labels_of_differences_name_the_best_method_whatever_its_length(best: str, metric: str) -> None:
    trials = np.array([0.0, 0.05, 0.1])
    found = [
        differences.Difference(name, trials, 0.05, 0.0, 0.1, is_significant=False) for name in ("alignf-linear", "unif")
    ]
    with style():
        image = differences._draw(found, METRICS[metric].error_title, best)
        assert cut_texts(image) == []
    assert best[:20] in image.axes[0].get_xlabel()


@pytest.mark.parametrize("alignments", [(0.1425, 0.1431), (0.0, 1.0)])
@pytest.mark.parametrize("errors", [(0.052, 0.0562), (0.05, 0.45)])
def test_numbers_with_many_digits_on_the_axes_of_base_kernels(
    errors: tuple[float, float], alignments: tuple[float, float]
) -> None:
    error, alignment = np.linspace(*errors, 6), np.linspace(*alignments, 6)
    columns = {"error": error, "alignment_train": alignment, "uncentered_alignment_train": alignment}
    means = pd.DataFrame(columns, index=[f"gaussian(2^{k})" for k in range(6)])
    with style():
        image = base_kernels._draw(means, "classification", pd.Series({"centered": -0.9, "uncentered": -0.8}))
        assert cut_texts(image) == []


def test_the_size_of_markers_on_paths_does_not_grow_with_the_number_of_repeats(tmp_path: Path) -> None:
    config = drawn_config(methods=["unif"], protocol={"folds": 3, "repeats": 5})
    plan, _, finished = run_here(tmp_path, config)
    with style():
        images = [drawing.image for drawing in Paths().draw(Results(context_of(tmp_path, plan, finished)))]
    sizes = [line.get_markersize() for image in images for line in image.axes[0].lines if line.get_marker() != ""]
    assert len(images) == 4
    assert 4 < min(sizes) <= max(sizes) <= 9.5
