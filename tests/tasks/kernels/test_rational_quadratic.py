import warnings

import numpy as np
from sklearn.gaussian_process.kernels import RationalQuadratic

from kernel_pipeline.tasks.kernels.rational_quadratic import RationalQuadraticFamily
from tests.tasks.kernels.references import assembled, gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))


def test_every_combination_is_a_kernel_that_equals_scikit_learn() -> None:
    family = RationalQuadraticFamily(length_scale=(2.0, 0.5), alpha=(0.1, 1.0, 30.0))
    expected = [RationalQuadratic(length, alpha)(FEATURES) for length in (2.0, 0.5) for alpha in (0.1, 1.0, 30.0)]
    np.testing.assert_allclose(gram([family], FEATURES, cuts=(8,)), expected, rtol=0, atol=1e-14)
    assert family.names()[1] == "rational-quadratic(length_scale=2, alpha=1)"
    assert family.shifts() == (1.0,) * 6


def test_defaults_are_those_of_scikit_learn() -> None:
    np.testing.assert_allclose(
        gram([RationalQuadraticFamily()], FEATURES)[0], RationalQuadratic()(FEATURES), rtol=1e-13
    )


def test_a_kernel_that_is_1_up_to_rounding_is_accurate() -> None:
    shifted = assembled([RationalQuadraticFamily(length_scale=(1e15,), alpha=(0.5, 4.0))], FEATURES)
    squares = ((FEATURES[:, None] - FEATURES) ** 2).sum(axis=2)
    np.testing.assert_allclose(shifted, [-squares / 2e30] * 2, rtol=1e-13)


def test_a_large_alpha_gives_the_gaussian_kernel() -> None:
    squares = ((FEATURES[:, None] - FEATURES) ** 2).sum(axis=2)
    kernel = gram([RationalQuadraticFamily(alpha=(1e300,))], FEATURES)[0]
    np.testing.assert_allclose(kernel, np.exp(-squares / 2), rtol=0, atol=1e-14)


def test_extreme_values_give_0_or_1() -> None:
    distances = np.array([[0.0, 1e300, np.inf]])
    out = np.full((1, 1, 3), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RationalQuadraticFamily(length_scale=(1e-300,)).evaluator()(distances, out)
    np.testing.assert_array_equal(out[0], [[0.0, -1.0, -1.0]])
