"""Figures about thousands of kernels draw a bounded number of points."""

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.results.figures.base_kernels import _draw
from kernel_pipeline.results.figures.rendering import svg_bytes
from kernel_pipeline.results.figures.style import style
from kernel_pipeline.results.figures.thinning import CELLS, MAX_POINTS, thinned
from kernel_pipeline.tasks.arrays import Floats

KERNELS = 20_000


def points(kind: str) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(0)
    x, y = rng.random(KERNELS), rng.random(KERNELS)
    shapes = {"uniform": y, "clustered": y**8, "line": np.full(KERNELS, 0.5), "two lines": np.round(y)}
    return x**8 if kind == "clustered" else x, shapes[kind]


@pytest.mark.parametrize("kind", ["uniform", "clustered", "line", "two lines"])
def test_every_point_is_drawn_or_close_to_one_that_is(kind: str) -> None:
    x, y = points(kind)
    shown = thinned(x, y)
    assert 100 < len(shown) <= MAX_POINTS
    assert (np.diff(shown) > 0).all()
    distances = np.maximum(np.abs(x[:, None] - x[shown]), np.abs(y[:, None] - y[shown])).min(axis=1)
    assert distances.max() <= 1 / min(CELLS)


def test_few_points_and_undefined_points() -> None:
    x, y = points("uniform")
    few = x[:MAX_POINTS]
    assert thinned(few, few).tolist() == list(range(MAX_POINTS))
    x[::2] = np.nan
    shown = thinned(x, y)
    assert (shown % 2 == 1).all()
    assert len(shown) > 100
    assert thinned(y, x).tolist() == shown.tolist()


@pytest.mark.parametrize("kind", ["uniform", "clustered"])
def test_the_image_of_thousands_of_kernels_is_small_and_the_same_each_time(kind: str) -> None:
    x, y = points(kind)
    means = pd.DataFrame({"error": x, "alignment_train": y, "uncentered_alignment_train": 1 - y})
    correlation = pd.Series({"centered": 0.5, "uncentered": 0.4})
    with style():
        first, second = (svg_bytes(_draw(means, "classification", correlation)) for _ in range(2))
    assert first == second
    assert len(first) < 120_000
