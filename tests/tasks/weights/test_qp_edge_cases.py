"""Degenerate quadratic programs, wrong input, and solvers that fail."""

from collections.abc import Callable

import numpy as np
import osqp
import pytest

import kernel_pipeline.tasks.weights.qp
from kernel_pipeline.tasks.weights.qp import TOLERANCE, nonnegative_qp
from tests.tasks.dense import Floats
from tests.tasks.weights.quadratic_programs import PROGRAMS, gaussian_family, objective, well_conditioned


def test_one_kernel() -> None:
    v, residual = nonnegative_qp(np.array([[4.0]]), np.array([2.0]))
    np.testing.assert_allclose(v, [0.5], rtol=1e-15)
    assert residual <= 1e-15


@pytest.mark.parametrize(
    ("M", "a"),
    [
        pytest.param(gaussian_family(0)[0], None, id="labels that no kernel is aligned with"),
        pytest.param(np.zeros((3, 3)), None, id="all kernels constant"),
        # Statistics of positive semi-definite kernels cannot have these, but the program can.
        pytest.param(np.eye(2), [-1.0, -2.0], id="a negative"),
        pytest.param(np.eye(2), [-1.0, 0.0], id="no positive entry of a"),
    ],
)
def test_all_weights_are_zero_if_no_kernel_reduces_the_objective(M: Floats, a: list[float] | None) -> None:
    v, residual = nonnegative_qp(M, np.zeros(len(M)) if a is None else np.array(a))
    assert not v.any()
    assert residual == 0.0


# M of two kernels that are equal in double precision, with off-diagonal entries wrong by some units in the last place,
# as for the two widest of 5 Gaussians. All weight on the second has residual 0.
@pytest.mark.parametrize("units", [-32, -3, -1, 0, 1, 2, 3, 32])
@pytest.mark.parametrize("less", [2.5e-9, 3e-9])
def test_two_kernels_that_differ_in_a_only(units: int, less: float) -> None:
    M = np.ones((2, 2))
    M[0, 1] = M[1, 0] = 1.0 + units * 2.0**-52
    v, residual = nonnegative_qp(M, np.array([1.0 - less, 1.0]))
    assert residual <= TOLERANCE
    assert (v >= 0).all()


def nothing(_: Floats, a: Floats) -> Floats:
    return np.zeros(len(a))


def everything(_: Floats, a: Floats) -> Floats:
    return np.ones(len(a))


def noise(_: Floats, a: Floats) -> Floats:
    return np.maximum(np.random.default_rng(len(a)).normal(size=len(a)), 0.0)


@pytest.mark.parametrize("proposal", [nothing, everything, noise])
@pytest.mark.parametrize("kind", ["well conditioned", "gaussian family", "constant kernel"])
def test_any_proposal_of_the_solver_is_corrected(
    kind: str, proposal: Callable[[Floats, Floats], Floats], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(10):
        M, a = PROGRAMS[kind](seed)
        expected = objective(M, a, nonnegative_qp(M, a)[0])
        with monkeypatch.context() as patch:
            patch.setattr(kernel_pipeline.tasks.weights.qp, "_osqp", proposal)
            v, residual = nonnegative_qp(M, a)
        assert residual <= TOLERANCE
        assert (v >= 0).all()
        assert objective(M, a, v) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(bad: float) -> None:
    M, a = well_conditioned(0, 4)
    broken_M, broken_a = M.copy(), a.copy()
    broken_M[1, 2] = broken_M[2, 1] = broken_a[3] = bad
    for program in ((broken_M, a), (M, broken_a)):
        with pytest.raises(ValueError, match="finite"):
            nonnegative_qp(*program)


def test_a_matrix_that_osqp_refuses_is_solved_nevertheless(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise osqp.OSQPException(4)  # the error for a matrix that is indefinite by rounding

    M, a = well_conditioned(3)
    expected, _ = nonnegative_qp(M, a)
    monkeypatch.setattr(osqp.OSQP, "setup", refuse)
    v, residual = nonnegative_qp(M, a)
    assert residual <= TOLERANCE
    np.testing.assert_allclose(v, expected, atol=1e-9 * np.abs(expected).max())
