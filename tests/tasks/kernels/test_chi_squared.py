import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import chi2_kernel

from kernel_pipeline.tasks.kernels.chi_squared import ChiSquaredFamily
from kernel_pipeline.tasks.kernels.family import Samples, UnsuitableFeaturesError, check_families
from kernel_pipeline.tasks.kernels.view import View
from tests.tasks.kernels.references import assembled, gram

FEATURES = 0.3 * np.random.default_rng(0).poisson(1.0, size=(25, 6)).astype(np.float64)


def test_kernels_equal_those_of_scikit_learn() -> None:
    family = ChiSquaredFamily(gamma=(0.2, 0.1, 0.3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernels = gram([family], FEATURES, cuts=(10,))
    expected = [chi2_kernel(FEATURES, gamma=gamma) for gamma in (0.2, 0.1, 0.3)]
    np.testing.assert_allclose(kernels, expected, rtol=1e-13)
    assert family.names() == ("chi-squared(0.2)", "chi-squared(0.1)", "chi-squared(0.3)")
    assert family.shifts() == (1.0, 1.0, 1.0)


def test_the_default_gamma_is_1() -> None:
    np.testing.assert_allclose(gram([ChiSquaredFamily()], FEATURES)[0], chi2_kernel(FEATURES), rtol=1e-13)


def test_sizes_whose_squares_overflow_or_underflow() -> None:
    features = np.array([[1e200, 0.0], [3e200, 0.0], [1e200, 1e-200], [1e200, 3e-200]])
    shifted = assembled([ChiSquaredFamily(gamma=(1e-210,))], features)[0]
    assert shifted[0, 1] == pytest.approx(-1e-10, rel=1e-9)
    alone = assembled([View(ChiSquaredFamily(gamma=(1e190,)), (1,))], features)[0]
    assert alone[2, 3] == pytest.approx(-1e-10, rel=1e-9)


def test_negative_features_are_refused_by_column() -> None:
    features = FEATURES.copy()
    features[4, 2], features[5, 3] = -1.5, -2.0
    names = ["a", "b", "age", "d", "e", "f"]
    message = (
        r"^family 'chi-squared' requires features that are not negative; column 'age' contains -1.5 \(2 of 6 columns "
        r"contain negative values\). Choose other columns, or set scale = 'minmax'$"
    )
    with pytest.raises(UnsuitableFeaturesError, match=message):
        ChiSquaredFamily().check(Samples(features), names)
    with pytest.raises(UnsuitableFeaturesError, match=r"column 'd' contains -2 \(1 of 2 columns"):
        check_families([View(ChiSquaredFamily(), (0, 3))], Samples(features), names)
    check_families([View(ChiSquaredFamily(), (0, 1, 5))], Samples(features), names)
