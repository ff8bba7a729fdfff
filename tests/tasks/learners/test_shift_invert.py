import copy

import numpy as np
import pytest

from kernel_pipeline.tasks.learners import shift_invert
from kernel_pipeline.tasks.learners.kernel_operator import Solve
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import WIDTHS, cholesky_path, gaussian_kernel


def solver(kernel: Floats, ridge: float) -> Solve:
    inverse = np.linalg.inv(kernel + ridge * np.eye(len(kernel)))
    return lambda block: np.asarray(inverse @ block)


def run(state: shift_invert.LanczosState, solve: Solve) -> shift_invert.LanczosState:
    while not state.is_done:
        shift_invert.step(state, solve)
    return state


@pytest.mark.parametrize("widths", WIDTHS)
def test_neighbouring_ridges_share_one_factorisation(widths: str) -> None:
    kernel, target, _ = gaussian_kernel(300, widths)
    ridges = np.array([2.0**-10, 2.0**-12, 2.0**-14, 2.0**-18])
    state = run(shift_invert.start(target, 2.0**-14, ridges, 1e-9, 200), solver(kernel, 2.0**-14))
    assert state.converged.all()
    assert state.steps < 100
    found = state.solutions()
    for number, ridge in enumerate(ridges):
        rest = target - kernel @ found[:, :, number] - ridge * found[:, :, number]
        assert (np.linalg.norm(rest, axis=0) <= 2e-9 * np.linalg.norm(target, axis=0)).all()
    np.testing.assert_allclose(
        kernel @ found[:, :, 2], kernel @ cholesky_path(kernel, target, ridges)[:, :, 2], atol=1e-8
    )


def test_outputs_may_converge_after_different_numbers_of_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    # New memory may hold NaN, which is NaN also if its coordinates are zero.
    monkeypatch.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
    kernel, target, _ = gaussian_kernel(100, "wide")
    smooth = kernel @ target[:, :1]
    ridges = np.array([1e-2, 1e-4])
    both = np.column_stack([smooth, target[:, 1]])
    state = run(shift_invert.start(both, 1e-3, ridges, 1e-9, 100), solver(kernel, 1e-3))
    alone = run(shift_invert.start(smooth, 1e-3, ridges, 1e-9, 100), solver(kernel, 1e-3))
    assert alone.steps < state.steps
    assert state.converged.all()
    np.testing.assert_allclose(state.solutions()[:, :1], alone.solutions(), rtol=1e-7)


def test_the_ridge_that_is_factorised_needs_one_step() -> None:
    kernel, target, _ = gaussian_kernel(100, "narrow")
    state = run(shift_invert.start(target, 0.125, np.array([0.125]), 1e-9, 50), solver(kernel, 0.125))
    assert state.steps == 1
    expected = np.linalg.solve(kernel + 0.125 * np.eye(100), target)
    np.testing.assert_allclose(state.solutions()[:, :, 0], expected, rtol=1e-9)


def test_right_hand_sides_in_an_invariant_subspace_are_solved_exactly() -> None:
    # For an eigenvector, the Lanczos iteration ends after one step; for zero, it ends before the first.
    kernel, _, _ = gaussian_kernel(100, "mixed")
    vector = np.linalg.eigh(kernel)[1][:, -1]
    target = np.column_stack([vector, np.zeros(100)])
    state = run(shift_invert.start(target, 0.01, np.array([1.0, 1e-4]), 1e-9, 50), solver(kernel, 0.01))
    assert state.steps <= 2
    for number, ridge in enumerate([1.0, 1e-4]):
        expected = np.linalg.solve(kernel + ridge * np.eye(100), target)
        np.testing.assert_allclose(state.solutions()[:, :, number], expected, rtol=1e-7, atol=1e-9)


def test_the_limit_of_steps_leaves_solutions_that_have_not_converged() -> None:
    kernel, target, _ = gaussian_kernel(200, "narrow")
    state = run(shift_invert.start(target, 1e-6, np.array([1.0]), 1e-9, 3), solver(kernel, 1e-6))
    assert state.steps == 3
    assert not state.converged.any()
    assert np.isfinite(state.solutions()).all()


def test_a_stored_state_resumes_with_the_same_bytes() -> None:
    kernel, target, _ = gaussian_kernel(100, "mixed")
    solve = solver(kernel, 1e-3)
    state = shift_invert.start(target, 1e-3, np.array([1e-2, 1e-4]), 1e-9, 60)
    for _ in range(4):
        shift_invert.step(state, solve)
    stored = copy.deepcopy(state)
    np.testing.assert_array_equal(run(state, solve).solutions(), run(stored, solve).solutions())


def test_a_ridge_too_small_for_an_indefinite_kernel_is_found() -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    kernel = (Q * np.linspace(-0.5, 1.0, 60)) @ Q.T
    target = rng.normal(size=(60, 2))
    state = run(shift_invert.start(target, 0.75, np.array([1.0, 0.6, 0.4]), 1e-10, 60), solver(kernel, 0.75))
    assert list(state.indefinite) == [False, False, True]
    found = state.solutions()
    assert np.isnan(found[:, :, 2]).all()
    np.testing.assert_allclose(found[:, :, 1], np.linalg.solve(kernel + 0.6 * np.eye(60), target), rtol=1e-7, atol=1e-8)
