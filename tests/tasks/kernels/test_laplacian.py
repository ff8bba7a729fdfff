from typing import Any

import numpy as np
import pytest
import scipy.spatial.distance
from sklearn.metrics.pairwise import laplacian_kernel

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, prepare_families
from kernel_pipeline.tasks.kernels.laplacian import LaplacianFamily
from tests.tasks.kernels.references import assembled, gram

FEATURES = np.random.default_rng(0).normal(size=(25, 6))


def test_kernels_equal_those_of_scikit_learn() -> None:
    family = LaplacianFamily(gamma=(0.2, 0.1, 0.3))
    expected = [laplacian_kernel(FEATURES, gamma=gamma) for gamma in (0.2, 0.1, 0.3)]
    np.testing.assert_allclose(gram([family], FEATURES, cuts=(10,)), expected, rtol=1e-13)
    assert family.names() == ("laplacian(0.2)", "laplacian(0.1)", "laplacian(0.3)")
    assert family.shifts() == (1.0, 1.0, 1.0)


def test_the_default_gamma_is_one_over_the_number_of_features() -> None:
    np.testing.assert_allclose(gram([LaplacianFamily()], FEATURES)[0], laplacian_kernel(FEATURES), rtol=1e-13)


def test_families_share_one_set_of_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, cdist = [], scipy.spatial.distance.cdist

    def counting(*arguments: Any) -> Floats:
        calls.append(arguments)
        return np.asarray(cdist(*arguments))

    monkeypatch.setattr(scipy.spatial.distance, "cdist", counting)
    fill = prepare_families([LaplacianFamily((0.5,)), LaplacianFamily((2.0, 1.0))], Samples(FEATURES))
    out = np.full((3, 5, 20), np.nan)
    fill(slice(0, 5), slice(5, 25), out)
    monkeypatch.undo()
    assert len(calls) == 1
    expected = [laplacian_kernel(FEATURES[:5], FEATURES[5:], gamma) for gamma in (0.5, 2.0, 1.0)]
    np.testing.assert_allclose(out + 1, expected, rtol=0, atol=1e-14)


def test_a_kernel_that_is_1_up_to_rounding_is_accurate() -> None:
    shifted = assembled([LaplacianFamily(gamma=(1e-30,))], FEATURES)[0]
    distances = np.abs(FEATURES[:, None] - FEATURES).sum(axis=2)
    np.testing.assert_allclose(shifted, -1e-30 * distances, rtol=1e-14)
