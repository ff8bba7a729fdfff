"""Lines connect kernels that are ordered, and no others."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from kernel_pipeline.results.figures import base_kernels, weights
from kernel_pipeline.results.figures.kernel_order import are_ordered

ORDERED = ["gaussian(2^-9)", "gaussian(2^-8)", "gaussian(0.5)"]
MEDIAN = ["gaussian(0.5)", "gaussian(median)", "gaussian(2)"]


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        (ORDERED, True),
        (ORDERED[::-1], True),
        (["matern(nu=1.5, length_scale=1)", "matern(nu=1.5, length_scale=2e+10)"], True),
        (["numbers:gaussian(1e-07)", "numbers:gaussian(0.01)"], True),
        (MEDIAN, False),
        (["gaussian(1)", "gaussian(4)", "gaussian(2)"], False),
        (["gaussian(1)", "laplacian(2)"], False),
        (["matern(nu=0.5, length_scale=1)", "matern(nu=1.5, length_scale=2)"], False),
        (["x1", "x2"], False),
        ([*ORDERED, "linear"], False),
    ],
)
def test_the_order_is_read_from_the_names(kernels: list[str], expected: bool) -> None:
    assert are_ordered(kernels) == expected


@pytest.mark.parametrize(("kernels", "style"), [(ORDERED, "-"), (MEDIAN, "None")])
def test_lines_connect_ordered_kernels_only(kernels: list[str], style: str) -> None:
    columns = ["error", "alignment_train", "uncentered_alignment_train"]
    means = pd.DataFrame(np.arange(9.0).reshape(3, 3), columns=columns, index=kernels)
    correlation = pd.Series({"centered": 0.5, "uncentered": 0.5})
    (axes,) = base_kernels._draw(means, "regression", correlation).axes
    assert [line.get_linestyle() for line in axes.get_lines()] == [style] * 2
    results: Any = SimpleNamespace(method_number=lambda method: 0, is_one_stage=lambda method: False)
    (axes,) = weights._draw(kernels, {"align": np.array([0.2, 0.5, 0.3])}, results).axes
    assert axes.get_lines()[0].get_linestyle() == style
