import numpy as np
import pytest
from sklearn.metrics.pairwise import polynomial_kernel

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, UnsuitableFeaturesError, prepare_families
from kernel_pipeline.tasks.kernels.generator import Generate
from kernel_pipeline.tasks.kernels.inner_products import inner_products
from kernel_pipeline.tasks.kernels.polynomial import PolynomialFamily
from tests.tasks.kernels.references import assembled, gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))


def test_every_combination_is_a_kernel_that_equals_scikit_learn() -> None:
    family = PolynomialFamily(degree=(3, 1, 5), gamma=(0.5, 0.1), coef0=(1.0, 0.0, 2.5))
    expected = [
        polynomial_kernel(FEATURES, degree=degree, gamma=gamma, coef0=coef0)
        for degree in (3, 1, 5)
        for gamma in (0.5, 0.1)
        for coef0 in (1.0, 0.0, 2.5)
    ]
    for kernel, other in zip(gram([family], FEATURES, cuts=(8,)), expected, strict=True):
        np.testing.assert_allclose(kernel, other, rtol=0, atol=1e-14 * np.abs(other).max())
    assert family.names()[1] == "polynomial(degree=3, gamma=0.5, coef0=0)"
    assert family.shifts()[:4] == (1.0, 0.0, 2.5**3, 1.0)


def test_defaults_are_those_of_scikit_learn() -> None:
    kernel = gram([PolynomialFamily()], FEATURES)[0]
    np.testing.assert_allclose(kernel, polynomial_kernel(FEATURES), rtol=1e-12)


def test_a_kernel_that_is_constant_up_to_rounding_is_accurate() -> None:
    shifted = assembled([PolynomialFamily(degree=(4,), gamma=(1e-25,), coef0=(3.0,))], FEATURES)[0]
    np.testing.assert_allclose(shifted, 4 * 3.0**3 * 1e-25 * (FEATURES @ FEATURES.T), rtol=1e-13)


def test_families_share_one_set_of_inner_products(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def counting(features: Floats) -> Generate:
        calls.append(features)
        return inner_products(features)

    monkeypatch.setattr("kernel_pipeline.tasks.kernels.polynomial.inner_products", counting)
    out = np.empty((2, 25, 25))
    families = [PolynomialFamily(degree=(2,)), PolynomialFamily(degree=(3,))]
    prepare_families(families, Samples(FEATURES))(slice(0, 25), slice(0, 25), out)
    assert len(calls) == 1
    np.testing.assert_allclose(out + 1, [polynomial_kernel(FEATURES, degree=degree) for degree in (2, 3)], rtol=1e-11)


def test_values_that_are_too_large_are_refused() -> None:
    family = PolynomialFamily(degree=(2, 10), gamma=(1.0,))
    family.check(Samples(FEATURES * 1e6), list("abcdef"))
    with pytest.raises(UnsuitableFeaturesError, match="family 'polynomial': kernel values reach"):
        family.check(Samples(FEATURES * 1e7), list("abcdef"))
