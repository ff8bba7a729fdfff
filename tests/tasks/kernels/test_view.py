import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from kernel_pipeline.tasks.kernels.family import Samples, family_notes, kernel_names, kernel_shifts, prepare_families
from kernel_pipeline.tasks.kernels.gaussian import GaussianFamily
from kernel_pipeline.tasks.kernels.view import View

FEATURES = np.random.default_rng(0).normal(size=(12, 4))
WIDE, NARROW = GaussianFamily(log2_gamma=(-3, -2)), GaussianFamily(log2_gamma=(1, 1))
VIEWS = [View(WIDE, (0, 2), "a"), View(NARROW, (3,), "b"), NARROW, View(NARROW, (0, 2), "a"), View(NARROW, None, "all")]


def test_each_view_computes_its_kernels_from_its_own_columns() -> None:
    out = np.empty((6, 5, 7))
    prepare_families(VIEWS, Samples(FEATURES))(slice(0, 5), slice(5, 12), out)
    expected = [
        ([0, 2], 2.0**-3),
        ([0, 2], 2.0**-2),
        ([3], 2.0),
        ([0, 1, 2, 3], 2.0),
        ([0, 2], 2.0),
        ([0, 1, 2, 3], 2.0),
    ]
    for kernel, (columns, gamma) in zip(out, expected, strict=True):
        np.testing.assert_allclose(
            kernel + 1, rbf_kernel(FEATURES[:5, columns], FEATURES[5:, columns], gamma), atol=1e-14
        )


def test_names_have_the_prefix_of_the_view_and_shifts_are_those_of_the_family() -> None:
    assert kernel_names(VIEWS) == (
        "a:gaussian(2^-3)",
        "a:gaussian(2^-2)",
        "b:gaussian(2^1)",
        "gaussian(2^1)",
        "a:gaussian(2^1)",
        "all:gaussian(2^1)",
    )
    assert kernel_shifts(VIEWS) == (1.0,) * 6


def test_a_view_alone_equals_views_together() -> None:
    alone, together = np.empty((1, 12, 12)), np.empty((3, 12, 12))
    rows = slice(0, 12)
    View(NARROW, (1, 3)).prepare(Samples(FEATURES))(rows, rows, alone)
    prepare_families([View(NARROW, (1, 3)), View(WIDE, (0,))], Samples(FEATURES))(rows, rows, together)
    np.testing.assert_array_equal(alone, together[:1])
    np.testing.assert_allclose(alone[0] + 1, rbf_kernel(FEATURES[:, [1, 3]], gamma=2.0), atol=1e-14)


@pytest.mark.parametrize("columns", [(0, 1), (0,)])
def test_notes_are_about_the_columns_of_the_view(columns: tuple[int, ...]) -> None:
    huge = FEATURES * [1.0, 1e9, 1.0, 1.0]
    notes = family_notes([View(WIDE, columns)], Samples(huge), ["p", "q", "r", "s"])
    assert ["'q'" in note for note in notes] == [True] * (1 in columns)
