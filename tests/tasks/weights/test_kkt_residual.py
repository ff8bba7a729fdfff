"""The KKT residual: the certificate of weights."""

import numpy as np
import pytest

from kernel_pipeline.tasks.weights.qp import TOLERANCE, kkt_residual, nonnegative_qp
from tests.tasks.weights.quadratic_programs import well_conditioned


def test_kkt_residual_by_hand() -> None:
    M, a = np.array([[2.0, 1.0], [1.0, 3.0]]), np.array([4.0, 1.0])
    assert kkt_residual(M, a, np.array([2.0, 0.0])) == 0.0  # gradient (0, 1): the second would not reduce the objective
    assert kkt_residual(M, a, np.zeros(2)) == 1.0  # gradient (-4, -1): the first would reduce the objective
    assert kkt_residual(M, a, np.array([1.0, 0.0])) == 0.5  # gradient (-2, 0)
    assert kkt_residual(M, a, np.array([2.0, 1.0])) == 1.0  # gradient (1, 4), both with weight
    assert kkt_residual(M, a, np.array([2.2, -0.4])) == pytest.approx(0.1)  # M^-1 a: no gradient, but below 0
    assert kkt_residual(M, np.zeros(2), np.zeros(2)) == 0.0
    assert kkt_residual(M, np.zeros(2), np.array([0.0, 1e-9])) == np.inf


@pytest.mark.parametrize("seed", range(20))
def test_kkt_residual_detects_wrong_weights(seed: int) -> None:
    M, a = well_conditioned(seed, 6)
    v, _ = nonnegative_qp(M, a)
    used = np.flatnonzero(v > 0)
    for k in used:
        for factor in (0.0, 1.0 - 1e-6, 1.0 + 1e-6, -1.0):
            wrong = v.copy()
            wrong[k] *= factor
            assert kkt_residual(M, a, wrong) > TOLERANCE
    for k in np.setdiff1d(np.arange(6), used):
        wrong = v.copy()
        wrong[k] = 1e-6 * v.max()
        assert kkt_residual(M, a, wrong) > TOLERANCE
        wrong[k] = -1e-6 * np.abs(a).max()
        assert kkt_residual(M, a, wrong) >= 1e-6 * (1 - 1e-9)


def test_kkt_residual_of_weights_that_are_nan_is_not_a_certificate() -> None:
    M, a = well_conditioned(0, 3)
    assert not kkt_residual(M, a, np.array([np.nan, 0.0, 0.0])) <= TOLERANCE
