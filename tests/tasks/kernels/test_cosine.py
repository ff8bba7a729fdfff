import warnings

import numpy as np
import pytest
from sklearn.metrics.pairwise import cosine_similarity

from kernel_pipeline.tasks.kernels.cosine import CosineFamily
from tests.tasks.kernels.references import assembled, gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))


@pytest.mark.parametrize("zero", [[], [3], [0, 24]])
def test_the_kernel_equals_that_of_scikit_learn(zero: list[int]) -> None:
    features = FEATURES.copy()
    features[zero] = 0.0
    kernel = gram([CosineFamily()], features, cuts=(4, 11))[0]
    np.testing.assert_allclose(kernel, cosine_similarity(features), rtol=0, atol=1e-14)
    assert not kernel[zero].any()
    assert (CosineFamily().names(), CosineFamily().shifts()) == (("cosine",), (1.0,))


def test_kernels_of_samples_of_almost_the_same_direction_are_accurate() -> None:
    angles = np.array([0.0, 1e-9, 3e-9, 1e-4])
    features = np.array([1.0, 1e200, 3.0, 1e-200])[:, None] * np.column_stack([np.cos(angles), np.sin(angles)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shifted = assembled([CosineFamily()], features)[0]
    np.testing.assert_allclose(shifted, -2 * np.sin((angles[:, None] - angles) / 2) ** 2, rtol=1e-12)
