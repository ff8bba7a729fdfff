"""`align-krr`, compared with a solver of scipy, numerical derivatives, and its certificates."""

import numpy as np
import pytest
from scipy.optimize import minimize

from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.align_krr import MAX_RESIDUAL, align_krr_path
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.weights.qp import nonnegative_qp
from tests.tasks.dense import Floats
from tests.tasks.learners.test_l2_krr import kernels_without_alignment
from tests.tasks.problems import KINDS, Problem, make_problem

# (gamma, gamma', gamma''): without alignment, without M, and with all
VALUES = [
    (0.0, 0.1, 1.0),
    (0.0, 1e-3, 0.0),
    (1.0, 0.01, 0.0),
    (1.0, 1e-4, 1.0),
    (100.0, 1.0, 10.0),
    (10.0, 1e-4, 100.0),
]


class Objective:
    """Problem 19 of the paper, by dense linear systems."""

    def __init__(self, problem: Problem, value: tuple[float, ...]) -> None:
        y = problem.y - problem.y.mean()
        self.grams, self.y = problem.grams, y / np.linalg.norm(y)
        self.gamma, self.gamma1, self.gamma2 = value
        self.a = np.array([self.y @ gram @ self.y for gram in problem.grams])
        self.M = np.einsum("kij,lij->kl", problem.grams, problem.grams)

    def alpha(self, mu: Floats) -> Floats:
        kernel = np.tensordot(mu, self.grams, 1)
        return np.asarray(np.linalg.solve(kernel + np.eye(len(self.y)), self.y))

    def value(self, mu: Floats) -> float:
        rest = mu @ (self.gamma2 * self.M + self.gamma1 * np.eye(len(mu))) @ mu
        return float(self.y @ self.alpha(mu) - self.gamma * mu @ self.a + rest)

    def gradient(self, mu: Floats) -> Floats:
        alpha = self.alpha(mu)
        forms = self.grams @ alpha @ alpha
        return np.asarray(-forms - self.gamma * self.a + 2 * (self.gamma2 * self.M @ mu + self.gamma1 * mu))


def check(problem: Problem, value: tuple[float, ...], found: OneStageSolution) -> float:
    """Check the conditions that hold for every solution, and return its value."""
    objective, mu = Objective(problem, value), found.weights
    assert (mu >= 0).all()
    assert found.certificate <= MAX_RESIDUAL
    alpha = objective.alpha(mu)
    pull = float((objective.grams @ alpha @ alpha + objective.gamma * objective.a).max())
    gradient = objective.gradient(mu)
    residual = np.where(mu > 0, np.abs(gradient), np.maximum(-gradient, 0.0)).max() / pull
    assert residual == pytest.approx(found.certificate, abs=1e-8)
    norm = float(np.linalg.norm(problem.y - problem.y.mean()))
    np.testing.assert_allclose(found.coefficients, norm * alpha, atol=1e-9 * norm)
    assert found.intercept == problem.y.mean()
    return objective.value(mu)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(34))
def test_against_scipy(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, duplicates=seed % 4 == 0)
    value = VALUES[seed % len(VALUES)]
    (found,) = align_krr_path(problem.kernels, problem.y, [value])
    objective = Objective(problem, value)
    best = minimize(
        objective.value,
        np.full(len(problem.grams), 0.1),
        jac=objective.gradient,
        bounds=[(0, None)] * len(problem.grams),
        method="L-BFGS-B",
        options={"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10},
    )
    ours = check(problem, value, found)
    assert ours <= best.fun + 1e-9 * (1 + abs(best.fun))
    assert ours >= best.fun - 1e-5 * (1 + abs(best.fun))


@pytest.mark.parametrize("value", VALUES)
def test_the_gradient_of_the_reference_equals_differences(value: tuple[float, ...]) -> None:
    problem = make_problem(3, "gaussian", n=15, p=4)
    objective, step = Objective(problem, value), 1e-6
    mu = np.array([0.1, 1.0, 0.5, 2.0])
    differences = [(objective.value(mu + step * e) - objective.value(mu - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(objective.gradient(mu), differences, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_solutions_do_not_depend_on_the_order_of_the_path(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind)
    up = align_krr_path(problem.kernels, problem.y, VALUES)
    down = align_krr_path(problem.kernels, problem.y, VALUES[::-1])[::-1]
    for value, one, other in zip(VALUES, up, down, strict=True):
        assert check(problem, value, one) == pytest.approx(check(problem, value, other), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(12))
def test_rank_one_kernels_and_their_matrices_have_the_same_solution(seed: int) -> None:
    problem = make_problem(seed, "rank one", duplicates=seed % 2 == 0)
    value = VALUES[seed % len(VALUES)]
    (sparse,) = align_krr_path(problem.kernels, problem.y, [value])
    (dense,) = align_krr_path(problem.dense(), problem.y, [value])
    assert check(problem, value, sparse) == pytest.approx(check(problem, value, dense), rel=1e-8, abs=1e-10)
    np.testing.assert_allclose(sparse.weights, dense.weights, rtol=1e-3, atol=1e-3 * dense.weights.max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_a_dominant_alignment_gives_the_weights_of_alignf(seed: int, kind: str) -> None:
    # with gamma = 2 gamma'' -> infinity, the rest of the objective is negligible beside  mu'M mu - 2 mu'a
    problem = make_problem(seed, kind, n=30, p=4)
    (found,) = align_krr_path(problem.kernels, problem.y, [(2e8, 0.0, 1e8)])
    objective = Objective(problem, (0.0, 0.0, 0.0))
    v, _ = nonnegative_qp(objective.M, objective.a)

    def loss(mu: Floats) -> float:
        return float(mu @ objective.M @ mu - 2 * mu @ objective.a)

    assert loss(found.weights) == pytest.approx(loss(v), rel=1e-6)
    if np.linalg.cond(objective.M) < 1e4:
        np.testing.assert_allclose(found.weights, v, atol=1e-3 * v.max())


@pytest.mark.parametrize("kind", KINDS)
def test_more_kernels_than_entries_of_a_kernel(kind: str) -> None:
    problem = make_problem(5, kind, n=6, p=40)
    for value, found in zip(VALUES, align_krr_path(problem.kernels, problem.y, VALUES), strict=True):
        check(problem, value, found)


def test_many_kernels_are_solved_by_pivoting(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(2, "rank one", n=25, p=30)
    expected = align_krr_path(problem.kernels, problem.y, VALUES)
    monkeypatch.setattr("kernel_pipeline.tasks.learners.align_krr.MAX_KERNELS_OSQP", 1)
    for value, found, other in zip(VALUES, align_krr_path(problem.kernels, problem.y, VALUES), expected, strict=True):
        assert check(problem, value, found) == pytest.approx(check(problem, value, other), rel=1e-8, abs=1e-10)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_weights_of_very_different_sizes(seed: int, kind: str) -> None:
    # With almost no penalty, some weights are about 1e9 and others about 1.
    problem = make_problem(seed, kind)
    for gamma in (2.0**-6, 1.0):
        for gamma1, gamma2 in ((2.0**-40, 0.0), (2.0**-40, 2.0**-40), (2.0**-20, 2.0**-24)):
            (found,) = align_krr_path(problem.kernels, problem.y, [(gamma, gamma1, gamma2)])
            assert found.certificate <= MAX_RESIDUAL
            assert (found.weights >= 0).all()
            objective = Objective(problem, (gamma, gamma1, gamma2))
            for factor in (0.99, 1.01):
                assert objective.value(found.weights) <= objective.value(factor * found.weights)


def test_a_small_weight_that_is_needed() -> None:
    # Two kernels of different samples: one has almost all of the alignment, but the other is still needed.
    x = np.zeros((12, 2))
    x[:8, 0], x[8:, 1] = [1, -1, 1, -1, 1, -1, 1, -1], [1, -1, 1, -1]
    y = x[:, 0] + 1e-4 * x[:, 1]
    grams = np.einsum("ik,jk->kij", x, x) / (x**2).sum(axis=0)[:, None, None]
    problem = Problem(GramKernels(grams, grams, np.ones(2, dtype=bool)), grams, grams, y, np.sign(y))
    (found,) = align_krr_path(problem.kernels, y, [(1.0, 1e-9, 0.0)])
    check(problem, (1.0, 1e-9, 0.0), found)
    assert 0 < found.weights[1] < 1e-7 * found.weights[0]


def test_one_kernel() -> None:
    problem = make_problem(2, "gaussian", n=20, p=1)
    objective = Objective(problem, (1.0, 0.1, 1.0))
    (found,) = align_krr_path(problem.kernels, problem.y, [(1.0, 0.1, 1.0)])
    grid = np.linspace(0.0, 2 * float(found.weights[0]) + 1, 2001)
    values = [objective.value(np.array([mu])) for mu in grid]
    assert abs(grid[int(np.argmin(values))] - found.weights[0]) <= grid[1]


def test_equal_kernels_have_equal_weights() -> None:
    problem = make_problem(2, "gaussian", p=5, duplicates=True)
    (found,) = align_krr_path(problem.kernels, problem.y, [(1.0, 0.1, 1.0)])
    assert found.weights[0] == pytest.approx(found.weights[4], rel=1e-5, abs=1e-8)


def test_permuted_kernels_have_permuted_weights() -> None:
    problem = make_problem(1, "gaussian", n=30, p=6)
    order = np.random.default_rng(0).permutation(6)
    (found,) = align_krr_path(problem.dense(), problem.y, [(1.0, 0.1, 1.0)])
    shuffled = GramKernels(problem.grams[order], problem.held_out[order], np.ones(6, dtype=bool))
    (permuted,) = align_krr_path(shuffled, problem.y, [(1.0, 0.1, 1.0)])
    np.testing.assert_allclose(permuted.weights, found.weights[order], atol=1e-6)


def test_the_units_of_the_target_do_not_matter() -> None:
    problem = make_problem(4, "gaussian", n=30, p=5)
    (found,) = align_krr_path(problem.kernels, problem.y, [(1.0, 0.1, 1.0)])
    (scaled,) = align_krr_path(problem.kernels, 1000 * problem.y - 7.0, [(1.0, 0.1, 1.0)])
    np.testing.assert_allclose(scaled.weights, found.weights, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(scaled.coefficients, 1000 * found.coefficients, rtol=1e-5, atol=1e-3)


def test_labels_without_alignment_and_constant_labels_are_refused() -> None:
    kernels, y = kernels_without_alignment()
    with pytest.raises(NoWeightsError):
        align_krr_path(kernels, y, VALUES)
    for constant in (0.0, 0.1):
        with pytest.raises(NoWeightsError):
            align_krr_path(make_problem(0, "gaussian", n=12).kernels, np.full(12, constant), VALUES)


def test_a_residual_that_is_too_large_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(1, "gaussian", n=30, p=6)
    monkeypatch.setattr("kernel_pipeline.tasks.learners.align_krr.MAX_STEPS", 1)
    (found,) = align_krr_path(problem.kernels, problem.y, [(1.0, 1e-4, 1.0)])
    assert found.certificate > MAX_RESIDUAL
