import numpy as np
import pytest

from kernel_pipeline.tasks.kernels.family import Samples, UnsuitableFeaturesError, check_families
from kernel_pipeline.tasks.kernels.linear import LinearFamily
from kernel_pipeline.tasks.kernels.view import View
from tests.tasks.kernels.references import gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))


def test_the_kernel_is_the_inner_product() -> None:
    expected = [[float(np.dot(x, z)) for z in FEATURES] for x in FEATURES]
    np.testing.assert_allclose(gram([LinearFamily()], FEATURES, cuts=(9,))[0], expected, rtol=0, atol=1e-13)
    assert (LinearFamily().names(), LinearFamily().shifts()) == (("linear",), (0.0,))


def test_on_one_column_it_has_rank_one() -> None:
    kernel = gram([View(LinearFamily(), (2,), "x")], FEATURES)[0]
    np.testing.assert_array_equal(kernel, np.outer(FEATURES[:, 2], FEATURES[:, 2]))


def test_values_that_are_too_large_are_refused() -> None:
    names = [f"x{column}" for column in range(6)]
    check_families([LinearFamily()], Samples(FEATURES * 1e69), names)
    with pytest.raises(
        UnsuitableFeaturesError, match=r"family 'linear': kernel values reach .*e\+14\d; above 1e\+140, sums"
    ):
        LinearFamily().check(Samples(FEATURES * 1e71), names)
    with pytest.raises(UnsuitableFeaturesError, match="family 'linear': kernel values reach inf"):
        check_families([View(LinearFamily(), (1,))], Samples(FEATURES * 1e200), names)
