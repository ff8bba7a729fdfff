"""`l2-krr` against general solvers, every mixture of two kernels, and its certificates."""

import clarabel
import numpy as np
import pytest
import scipy.sparse

from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import GramKernels
from kernel_pipeline.tasks.learners.l2_krr import MAX_GAP, l2_krr_path
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from tests.tasks.dense import Floats
from tests.tasks.problems import KINDS, Problem, make_problem

BUDGETS = [2.0**exponent for exponent in (-4, 0, 4, 8, 12)]


def by_clarabel(grams: Floats, y: Floats, budget: float) -> float:
    """Return the optimum of  max 2 alpha'y - s - Lambda r,  ||alpha||^2 <= s,  ||F_k' alpha||^2 <= v_k,  ||v|| <= r."""
    n, p = len(y), len(grams)
    size = n + p + 2  # alpha, v, s, r
    rows: list[Floats] = []
    right: list[Floats] = []
    cones = []

    def square_below(factor: Floats, column: int) -> None:
        bound = np.zeros((1, size))
        bound[0, column] = -1.0
        rows.extend([bound, bound, np.column_stack([-2 * factor, np.zeros((len(factor), p + 2))])])
        right.extend([np.array([1.0, -1.0]), np.zeros(len(factor))])
        cones.append(clarabel.SecondOrderConeT(2 + len(factor)))

    for k, gram in enumerate(grams):
        values, vectors = np.linalg.eigh(gram)
        kept = values > 1e-14
        square_below((vectors[:, kept] * np.sqrt(values[kept])).T, n + k)
    square_below(np.eye(n), n + p)
    norm = np.zeros((p + 1, size))
    norm[0, n + p + 1] = -1.0
    norm[1:, n : n + p] = -np.eye(p)
    rows.append(norm)
    right.append(np.zeros(p + 1))
    cones.append(clarabel.SecondOrderConeT(p + 1))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    q = np.concatenate([-2 * y, np.zeros(p), [1.0, budget]])
    A = scipy.sparse.csc_matrix(np.vstack(rows))
    empty = scipy.sparse.csc_matrix((size, size))
    solution = clarabel.DefaultSolver(empty, q, A, np.concatenate(right), cones, settings).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved")
    return -float(solution.obj_val)


def primal_value(problem: Problem, weights: Floats) -> float:
    """Return `y'(K_mu + I)^-1 y`, the value of the weights for the best alpha."""
    y = problem.y - problem.y.mean()
    return float(y @ np.linalg.solve(np.tensordot(weights, problem.grams, 1) + np.eye(len(y)), y))


def check(problem: Problem, budget: float, found: OneStageSolution) -> float:
    """Check the conditions that hold for every solution, and return its value."""
    y, alpha = problem.y - problem.y.mean(), found.coefficients
    assert (found.weights >= 0).all()
    assert np.linalg.norm(found.weights) == pytest.approx(budget, rel=1e-9)
    assert found.intercept == problem.y.mean()
    assert found.certificate <= MAX_GAP
    forms = problem.grams @ alpha @ alpha
    dual = float(2 * alpha @ y - alpha @ alpha - budget * np.linalg.norm(forms))
    value = primal_value(problem, found.weights)
    # no value is below the dual value, and the certificate bounds the distance from it
    assert -1e-9 * value <= value - dual <= (found.certificate + 1e-9) * value * (1 + 1e-6)
    image = np.tensordot(found.weights, problem.grams, 1) @ alpha
    upper = float((y - image) @ (y - image) + alpha @ image)
    assert (upper - dual) / upper == pytest.approx(found.certificate, rel=1e-2, abs=1e-9)
    return value


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(34))
def test_against_clarabel(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, duplicates=seed % 4 == 0)
    budget = BUDGETS[seed % 4]  # clarabel has difficulties with a larger one; `check` needs no other solver
    (found,) = l2_krr_path(problem.kernels, problem.y, [(budget,)])
    optimum = by_clarabel(problem.grams, problem.y - problem.y.mean(), budget)
    assert check(problem, budget, found) == pytest.approx(optimum, rel=1e-5)


@pytest.mark.parametrize("seed", range(34))
def test_gaussians_along_the_whole_path(seed: int) -> None:
    # ill-conditioned: the flattest kernels of a family are almost of rank one
    problem = make_problem(seed, "gaussian", n=40, p=[3, 7, 12][seed % 3])
    values = [(2.0**exponent,) for exponent in range(-4, 31, 2)]
    path = l2_krr_path(problem.kernels, problem.y, values)
    y = problem.y - problem.y.mean()
    worths = []
    for (budget,), found in zip(values, path, strict=True):
        assert found.certificate <= MAX_GAP
        assert np.linalg.norm(found.weights) == pytest.approx(budget, rel=1e-9)
        worths.append(primal_value(problem, found.weights))
        # the predictor is that of ridge regression with these weights
        alpha = np.linalg.solve(np.tensordot(found.weights, problem.grams, 1) + np.eye(40), y)
        assert np.linalg.norm(alpha - found.coefficients) <= 2e-3 * np.linalg.norm(alpha) + 1e-9
    assert (np.diff(worths) <= 1e-6 * worths[0]).all()  # a larger ball contains the smaller ones


@pytest.mark.parametrize("kind", ["low rank", "rank one"])
@pytest.mark.parametrize("seed", range(10))
def test_kernels_of_low_rank_along_the_whole_path(seed: int, kind: str) -> None:
    # with large weights, alpha is almost in the null space of all kernels, so its forms are dominated by rounding
    problem = make_problem(seed, kind)
    values = [(2.0**exponent,) for exponent in range(0, 31, 3)]
    for found in l2_krr_path(problem.kernels, problem.y, values):
        assert found.certificate <= MAX_GAP


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(6))
def test_two_kernels_against_every_mixture(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, p=2)
    budget = BUDGETS[1 + seed % 4]
    (found,) = l2_krr_path(problem.kernels, problem.y, [(budget,)])
    angles = np.linspace(0.0, np.pi / 2, 201)
    values = [primal_value(problem, budget * np.array([np.cos(angle), np.sin(angle)])) for angle in angles]
    ours = primal_value(problem, found.weights)
    assert min(values) * (1 - 1e-3) <= ours <= min(values) * (1 + 1e-6)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_one_kernel_gives_ordinary_ridge_regression(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, p=1)
    y = problem.y - problem.y.mean()
    for budget in BUDGETS:
        (found,) = l2_krr_path(problem.kernels, problem.y, [(budget,)])
        np.testing.assert_allclose(found.weights, [budget], rtol=1e-12)
        alpha = np.linalg.solve(budget * problem.grams[0] + np.eye(len(y)), y)
        assert np.linalg.norm(found.coefficients - alpha) <= 1e-3 * np.linalg.norm(y)
        assert primal_value(problem, found.weights) == pytest.approx(y @ alpha, rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_the_path_does_not_matter(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind)
    values = [(budget,) for budget in BUDGETS]
    up = l2_krr_path(problem.kernels, problem.y, values)
    down = l2_krr_path(problem.kernels, problem.y, values[::-1])[::-1]
    for (budget,), one, other in zip(values, up, down, strict=True):
        assert check(problem, budget, one) == pytest.approx(check(problem, budget, other), rel=2e-6)


@pytest.mark.parametrize("seed", range(12))
def test_rank_one_kernels_and_their_matrices_have_the_same_solution(seed: int) -> None:
    problem = make_problem(seed, "rank one", duplicates=seed % 2 == 0)
    values = [(budget,) for budget in BUDGETS]
    for (budget,), sparse, dense in zip(
        values,
        l2_krr_path(problem.kernels, problem.y, values),
        l2_krr_path(problem.dense(), problem.y, values),
        strict=True,
    ):
        assert check(problem, budget, sparse) == pytest.approx(check(problem, budget, dense), rel=2e-6)
        np.testing.assert_allclose(sparse.weights, dense.weights, atol=0.02 * budget)


@pytest.mark.parametrize("kind", KINDS)
def test_more_kernels_than_entries_of_a_kernel(kind: str) -> None:
    problem = make_problem(5, kind, n=6, p=40)
    for budget in BUDGETS[:4]:
        (found,) = l2_krr_path(problem.kernels, problem.y, [(budget,)])
        optimum = by_clarabel(problem.grams, problem.y - problem.y.mean(), budget)
        assert check(problem, budget, found) == pytest.approx(optimum, rel=1e-5)


def test_equal_kernels_have_equal_weights() -> None:
    problem = make_problem(2, "gaussian", p=5, duplicates=True)
    (found,) = l2_krr_path(problem.kernels, problem.y, [(16.0,)])
    assert found.weights[0] == pytest.approx(found.weights[4], rel=1e-9)


def test_permuted_kernels_have_permuted_weights() -> None:
    problem = make_problem(1, "gaussian", n=30, p=6)
    order = np.random.default_rng(0).permutation(6)
    (found,) = l2_krr_path(problem.dense(), problem.y, [(100.0,)])
    shuffled = GramKernels(problem.grams[order], problem.held_out[order], np.ones(6, dtype=bool))
    (permuted,) = l2_krr_path(shuffled, problem.y, [(100.0,)])
    np.testing.assert_allclose(permuted.weights, found.weights[order], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-6, -3.0, 1e6])
def test_the_units_of_the_target_do_not_matter(factor: float) -> None:
    problem = make_problem(4, "gaussian", n=30, p=5)
    (found,) = l2_krr_path(problem.kernels, problem.y, [(100.0,)])
    (scaled,) = l2_krr_path(problem.kernels, factor * problem.y + 5.0, [(100.0,)])
    np.testing.assert_allclose(scaled.weights, found.weights, rtol=1e-4)
    size = float(np.linalg.norm(found.coefficients))
    np.testing.assert_allclose(scaled.coefficients / factor, found.coefficients, atol=1e-4 * size)
    assert scaled.intercept == pytest.approx(factor * problem.y.mean() + 5.0)


def kernels_without_alignment() -> tuple[GramKernels, Floats]:
    rng = np.random.default_rng(0)
    y = rng.normal(size=12)
    deviations = y - y.mean()
    x = rng.normal(size=(3, 12))
    x -= x.mean(axis=1)[:, None]
    x -= np.outer(x @ deviations, deviations) / (deviations @ deviations)
    grams = np.einsum("ki,kj->kij", x, x) / (x**2).sum(axis=1)[:, None, None]
    return GramKernels(grams, grams, np.ones(3, dtype=bool)), y


def test_labels_without_alignment_and_constant_labels_are_refused() -> None:
    kernels, y = kernels_without_alignment()
    with pytest.raises(NoWeightsError):
        l2_krr_path(kernels, y, [(1.0,)])
    for constant in (0.0, 0.1):
        with pytest.raises(NoWeightsError):
            l2_krr_path(make_problem(0, "gaussian", n=12).kernels, np.full(12, constant), [(1.0,)])


def test_a_gap_that_is_too_large_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(1, "gaussian", n=30, p=6)
    monkeypatch.setattr("kernel_pipeline.tasks.learners.l2_krr.MAX_STEPS", 1)
    (found,) = l2_krr_path(problem.kernels, problem.y, [(256.0,)])
    assert found.certificate > MAX_GAP


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_weights_are_the_fixed_point_of_the_interpolated_iteration(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind)
    y, budgets = problem.y - problem.y.mean(), [2.0**exponent for exponent in (-4, 0, 4, 8)]
    for budget, found in zip(budgets, l2_krr_path(problem.kernels, problem.y, [(b,) for b in budgets]), strict=True):
        weights = np.full(len(problem.grams), budget / len(problem.grams) ** 0.5)
        for _ in range(2000):
            alpha = np.linalg.solve(np.tensordot(weights, problem.grams, 1) + np.eye(len(y)), y)
            forms = problem.grams @ alpha @ alpha
            before, weights = weights, (weights + budget * forms / np.linalg.norm(forms)) / 2
            if np.abs(weights - before).max() < 1e-13 * budget:
                break
        np.testing.assert_allclose(found.weights, weights, rtol=0, atol=1e-9 * budget)
