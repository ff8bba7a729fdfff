import warnings

import numpy as np
import pytest
from scipy.special import gammainc
from sklearn.gaussian_process.kernels import Matern

from kernel_pipeline.tasks.kernels.family import Samples
from kernel_pipeline.tasks.kernels.matern import MaternFamily
from kernel_pipeline.tasks.parameters import ParameterError
from tests.tasks.kernels.references import gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))
NUS = (0.5, 1.5, 2.5)


def test_every_combination_is_a_kernel_that_equals_scikit_learn() -> None:
    family = MaternFamily(nu=(2.5, 0.5, 1.5), length_scale=(1.0, 0.7, 2.0))
    expected = [Matern(length, nu=nu)(FEATURES) for nu in (2.5, 0.5, 1.5) for length in (1.0, 0.7, 2.0)]
    np.testing.assert_allclose(gram([family], FEATURES, cuts=(3, 11)), expected, rtol=0, atol=1e-14)
    assert family.names()[:2] == ("matern(nu=2.5, length_scale=1)", "matern(nu=2.5, length_scale=0.7)")
    assert family.shifts() == (1.0,) * 9


def test_defaults_are_those_of_scikit_learn() -> None:
    np.testing.assert_allclose(gram([MaternFamily()], FEATURES)[0], Matern()(FEATURES), rtol=0, atol=1e-14)


@pytest.mark.parametrize("nu", NUS)
@pytest.mark.parametrize("lengths", [tuple(2.0**-k for k in range(40)), tuple(3.0**k for k in range(-12, 12))])
def test_kernels_are_accurate_at_any_distance(nu: float, lengths: tuple[float, ...]) -> None:
    """Test length scales with and without doubling; the closed forms are sums of terms of equal sign."""
    distances = 10.0 ** np.random.default_rng(1).uniform(-15, 6, size=(20, 30))
    out = np.full((len(lengths), 20, 30), np.nan)
    MaternFamily(nu=(nu,), length_scale=lengths).evaluator()(distances, out)
    for length, kernel in zip(lengths, out, strict=True):
        a = np.sqrt(2 * nu) * distances / length
        parts = {0.5: gammainc(1, a), 1.5: gammainc(2, a), 2.5: gammainc(3, a) + a**2 * np.exp(-a) / 6}
        np.testing.assert_allclose(kernel, -parts[nu], rtol=1e-12)
        np.testing.assert_allclose(kernel[a > 1], -parts[nu][a > 1], rtol=1e-14)


@pytest.mark.parametrize("nu", NUS)
def test_extreme_values_give_0_or_1(nu: float) -> None:
    distances = np.array([[0.0, 1e200, np.inf, 1e-300]])
    out = np.full((4, 1, 4), np.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MaternFamily(nu=(nu,), length_scale=(1.0, 0.5, 1e-320, 1e-100)).evaluator()(distances, out)
    np.testing.assert_array_equal(out[:, 0, 0], 0.0)
    np.testing.assert_allclose(out[:, 0, 1:3], -1.0, rtol=1e-15)
    np.testing.assert_allclose(out[[0, 1, 3], 0, 3], 0.0, atol=1e-150)


def test_samples_that_are_close_compared_with_their_size() -> None:
    """The root of a squared distance from a matrix product would be wrong by 1e-8."""
    rng = np.random.default_rng(2)
    features = rng.normal(size=(20, 30))
    features[10:] = features[:10] + 1e-7 * rng.normal(size=(10, 30))
    out = np.empty((1, 10, 10))
    MaternFamily(nu=(0.5,)).prepare(Samples(features))(slice(0, 10), slice(10, 20), out)
    expected = -np.linalg.norm(features[:10] - features[10:], axis=1)
    np.testing.assert_allclose(np.diag(out[0]), np.expm1(expected), rtol=1e-9)


def test_other_values_of_nu_are_refused() -> None:
    with pytest.raises(ParameterError, match=r"^nu: must be 0.5, 1.5 or 2.5; got 1$"):
        MaternFamily(nu=(0.5, 1.0))
