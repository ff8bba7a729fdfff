import copy

import numpy as np
import pytest

from kernel_pipeline.tasks.learners import block_cg
from tests.tasks.dense import Floats
from tests.tasks.learners.ridge_problems import RIDGES, gaussian_kernel


def identity(block: Floats, ridges: Floats) -> Floats:
    return block.copy()


def run(state: block_cg.CgState, kernel: Floats, steps: int = 2000) -> block_cg.CgState:
    while len(state.active) and state.steps < steps:
        block_cg.step(state, lambda block: kernel @ block, identity)
    return state


def test_every_column_solves_its_own_system() -> None:
    kernel, target, _ = gaussian_kernel(120, "mixed")
    ridges = RIDGES[:6]
    right = np.repeat(target, 6, axis=1)
    limits = 1e-10 * np.linalg.norm(right, axis=0)
    state = run(block_cg.start(right, np.tile(ridges, 2), limits, identity), kernel)
    for column, ridge in enumerate(np.tile(ridges, 2)):
        expected = np.linalg.solve(kernel + ridge * np.eye(120), right[:, column])
        np.testing.assert_allclose(state.solutions[:, column], expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    assert not state.indefinite.any()


def test_converged_columns_are_removed_and_do_not_change() -> None:
    kernel, target, _ = gaussian_kernel(80, "mixed")
    right = np.column_stack([np.zeros(80), target[:, 0], target[:, 0]])
    state = block_cg.start(right, np.array([1.0, 8.0, 2.0**-12]), np.full(3, 1e-8), identity)
    assert list(state.active) == [1, 2]  # the solution of a system without a right-hand side is 0
    while 1 in state.active:
        block_cg.step(state, lambda block: kernel @ block, identity)
    first = state.solutions[:, 1].copy()
    assert list(state.active) == [2]
    assert state.residuals.shape == state.directions.shape == (80, 1)
    run(state, kernel)
    np.testing.assert_array_equal(state.solutions[:, 1], first)
    np.testing.assert_array_equal(state.solutions[:, 0], 0.0)


def test_a_stored_state_resumes_with_the_same_bytes() -> None:
    kernel, target, _ = gaussian_kernel(80, "mixed")
    state = run(block_cg.start(target, RIDGES[[3, 5]], np.full(2, 1e-8), identity), kernel, steps=4)
    stored = copy.deepcopy(state)
    np.testing.assert_array_equal(run(state, kernel).solutions, run(stored, kernel).solutions)


@pytest.mark.parametrize("ridge", [0.25, 1.0])
def test_an_indefinite_matrix_is_found(ridge: float) -> None:
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    kernel = (Q * np.linspace(-0.5, 1.0, 60)) @ Q.T
    state = run(block_cg.start(rng.normal(size=(60, 1)), np.array([ridge]), np.array([1e-9]), identity), kernel)
    assert state.indefinite[0] == (ridge < 0.5)
