"""`l1-svm` against clarabel on the whole program, scikit-learn on all mixtures of two kernels, and its certificates."""

import clarabel
import numpy as np
import pytest
import scipy.sparse
from sklearn.svm import SVC

import kernel_pipeline.tasks.learners.l1_svm
from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, GramKernels
from kernel_pipeline.tasks.learners.interior_point import solve_qcqp
from kernel_pipeline.tasks.learners.l1_svm import MAX_GAP, l1_svm_path
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from tests.tasks.dense import Floats
from tests.tasks.problems import KINDS, Problem, make_problem

BUDGETS = [2.0**exponent for exponent in (-4, 0, 3, 6, 9, 12, 14, 16)]


def by_clarabel(grams: Floats, y: Floats, budget: float) -> float:
    """Return the optimum of  max 2 alpha'1 - Lambda t,  ||F_k' Y alpha||^2 <= t,  0 <= alpha <= 1,  y'alpha = 0."""
    n = len(y)
    # variables alpha / size and t / size^2: a large budget makes both small
    size = min(1.0, 2 * n / budget)
    rows = [np.append(y, 0.0)[None], -np.eye(n, n + 1), np.eye(n, n + 1)]
    right = [np.zeros(1), np.zeros(n), np.full(n, 1.0 / size)]
    cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(2 * n)]
    for gram in grams:
        values, vectors = np.linalg.eigh(gram)
        kept = values > 1e-14
        factor = (vectors[:, kept] * np.sqrt(values[kept])).T * y
        # ||x||^2 <= t  is  ||(2 x, t - 1)|| <= t + 1
        t = np.zeros((1, n + 1))
        t[0, n] = -1.0
        rows += [t, t, np.column_stack([-2 * factor, np.zeros(len(factor))])]
        right += [np.array([1.0, -1.0]), np.zeros(len(factor))]
        cones.append(clarabel.SecondOrderConeT(2 + len(factor)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-9
    q = np.append(np.full(n, -2.0), budget * size)
    empty = scipy.sparse.csc_matrix((n + 1, n + 1))
    A = scipy.sparse.csc_matrix(np.vstack(rows))
    solution = clarabel.DefaultSolver(empty, q, A, np.concatenate(right), cones, settings).solve()
    assert str(solution.status) in ("Solved", "AlmostSolved")
    return -float(solution.obj_val) * size


def primal_value(grams: Floats, y: Floats, found: OneStageSolution) -> float:
    """Return `||w||^2 + 2 sum of slacks` of a solution."""
    kernel = np.tensordot(found.weights, grams, 1)
    outputs = kernel @ found.coefficients + found.intercept
    return float(found.coefficients @ kernel @ found.coefficients + 2 * np.maximum(0.0, 1 - y * outputs).sum())


def dual_value(grams: Floats, y: Floats, found: OneStageSolution, budget: float) -> float:
    """Return the dual value of the coefficients of a solution, multiplied by the best factor."""
    alpha = y * found.coefficients
    largest, total = float((grams @ found.coefficients @ found.coefficients).max()), float(alpha.sum())
    lengths = np.clip([total / (budget * max(largest, 1e-300)), 1.0], 0.0, 1.0)
    return max(float(2 * length * total - budget * length**2 * largest) for length in lengths)


def check(problem: Problem, kernels: BaseKernels, budget: float, found: OneStageSolution) -> float:
    """Check the conditions that hold for every solution, and return its primal value."""
    y, grams = problem.classes, problem.grams
    alpha = y * found.coefficients
    assert (found.weights >= 0).all()
    assert found.weights.sum() == pytest.approx(budget, rel=1e-9)
    assert alpha.min() >= 0
    assert alpha.max() <= 1
    assert abs(y @ alpha) <= 1e-9 * alpha.sum()
    assert found.certificate <= MAX_GAP
    primal, dual = primal_value(grams, y, found), dual_value(grams, y, found, budget)
    assert (primal - dual) / primal == pytest.approx(found.certificate, rel=1e-3, abs=1e-6)
    return primal


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(34))
def test_against_clarabel(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, duplicates=seed % 4 == 0)
    budget = BUDGETS[seed % len(BUDGETS)]
    (found,) = l1_svm_path(problem.kernels, problem.classes, [(budget,)])
    primal = check(problem, problem.kernels, budget, found)
    optimum = by_clarabel(problem.grams, problem.classes, budget)
    assert primal == pytest.approx(optimum, rel=1e-4)
    # the certificate bounds the distance from the optimum
    assert primal - optimum <= (found.certificate + 1e-6) * primal


@pytest.mark.parametrize("seed", range(12))
def test_rank_one_kernels_and_their_matrices_have_the_same_solution(seed: int) -> None:
    problem = make_problem(seed, "rank one", duplicates=seed % 2 == 0)
    values = [(budget,) for budget in BUDGETS[1::2]]
    for (budget,), sparse, dense in zip(
        values,
        l1_svm_path(problem.kernels, problem.classes, values),
        l1_svm_path(problem.dense(), problem.classes, values),
        strict=True,
    ):
        assert check(problem, problem.kernels, budget, sparse) == pytest.approx(
            check(problem, problem.dense(), budget, dense), rel=1e-4
        )


@pytest.mark.parametrize("seed", range(8))
def test_two_kernels_against_every_mixture(seed: int) -> None:
    problem = make_problem(seed, KINDS[seed % 2], p=2)
    budget = [1.0, 30.0, 300.0, 3000.0][seed % 4]
    (found,) = l1_svm_path(problem.kernels, problem.classes, [(budget,)])
    values = []
    for share in np.linspace(0.0, 1.0, 41):
        kernel = budget * (share * problem.grams[0] + (1 - share) * problem.grams[1])
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-8).fit(kernel, problem.classes)
        alpha = np.abs(machine.dual_coef_[0])
        signed = machine.dual_coef_[0]
        inside = kernel[np.ix_(machine.support_, machine.support_)]
        values.append(float(2 * alpha.sum() - signed @ inside @ signed))
    ours = primal_value(problem.grams, problem.classes, found)
    assert ours <= min(values) * (1 + 1e-4)
    assert ours >= min(values) * (1 - 1e-2)  # the minimum may be between two points of the grid


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(10))
def test_one_kernel_gives_an_ordinary_svm(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind, p=1)
    for budget in (1.0, 64.0):
        (found,) = l1_svm_path(problem.kernels, problem.classes, [(budget,)])
        np.testing.assert_allclose(found.weights, [budget], rtol=1e-12)
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(budget * problem.grams[0], problem.classes)
        alpha = np.abs(machine.dual_coef_[0])
        inside = budget * problem.grams[0][np.ix_(machine.support_, machine.support_)]
        optimum = 2 * alpha.sum() - machine.dual_coef_[0] @ inside @ machine.dual_coef_[0]
        assert primal_value(problem.grams, problem.classes, found) == pytest.approx(optimum, rel=1e-4)
        # w is unique: ||w - w'||^2 is at most the difference of the objective from its minimum
        expected = machine.decision_function(budget * problem.held_out[0]) - machine.intercept_
        actual = problem.kernels.predict(found.weights, found.coefficients)
        radius = np.sqrt(budget * np.maximum(1e-9, 2e-4 * optimum) * np.abs(problem.held_out[0]).max() * 10)
        np.testing.assert_allclose(actual, expected, atol=radius)


def test_one_kernel_gives_the_predictions_of_an_ordinary_svm() -> None:
    agree = []
    for seed in range(8):
        problem = make_problem(seed, "gaussian", n=40, p=1)
        (found,) = l1_svm_path(problem.kernels, problem.classes, [(256.0,)])
        machine = SVC(C=1.0, kernel="precomputed", tol=1e-9).fit(256.0 * problem.grams[0], problem.classes)
        ours = problem.kernels.predict(found.weights, found.coefficients) + found.intercept
        np.testing.assert_allclose(ours, machine.decision_function(256.0 * problem.held_out[0]), atol=0.05)
        agree += list(np.sign(ours) == machine.predict(256.0 * problem.held_out[0]))
    assert np.mean(agree) > 0.97


@pytest.mark.parametrize("first_set", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_a_working_set_that_has_to_grow(seed: int, first_set: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(seed, KINDS[seed % 3], n=25, p=40)
    values = [(budget,) for budget in (4.0, 256.0, 16384.0)]
    whole = l1_svm_path(problem.kernels, problem.classes, values)
    sizes: list[int] = []

    def watched(kernels: BaseKernels, *rest: object) -> object:
        sizes.append(kernels.count)
        return solve_qcqp(kernels, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(kernel_pipeline.tasks.learners.l1_svm, "FIRST_SET", first_set)
    monkeypatch.setattr(kernel_pipeline.tasks.learners.l1_svm, "solve_qcqp", watched)
    for (budget,), found, expected in zip(
        values, l1_svm_path(problem.kernels, problem.classes, values), whole, strict=True
    ):
        assert check(problem, problem.kernels, budget, found) == pytest.approx(
            check(problem, problem.kernels, budget, expected), rel=1e-4
        )
    assert sizes[0] == first_set
    assert len(sizes) > len(values)
    assert min(sizes) < 40


@pytest.mark.parametrize("kind", KINDS)
def test_more_kernels_than_entries_of_a_kernel(kind: str) -> None:
    problem = make_problem(5, kind, n=6, p=40)
    for budget in (1.0, 100.0, 10000.0):
        (found,) = l1_svm_path(problem.kernels, problem.classes, [(budget,)])
        primal = check(problem, problem.kernels, budget, found)
        assert primal == pytest.approx(by_clarabel(problem.grams, problem.classes, budget), rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_order_of_the_path_does_not_matter(seed: int, kind: str) -> None:
    problem = make_problem(seed, kind)
    values = [(budget,) for budget in BUDGETS]
    up = l1_svm_path(problem.kernels, problem.classes, values)
    down = l1_svm_path(problem.kernels, problem.classes, values[::-1])[::-1]
    for (budget,), one, other in zip(values, up, down, strict=True):
        assert check(problem, problem.kernels, budget, one) == pytest.approx(
            check(problem, problem.kernels, budget, other), rel=1e-4
        )


@pytest.mark.parametrize(
    ("kind", "seed", "exponent"),
    [
        ("gaussian", 9, 16),  # a Newton system that rounding makes indefinite
        ("gaussian", 14, 16),
        ("low rank", 2, 12),
        ("low rank", 50, 16),  # steps that ignore the curvature of the constraints
        ("low rank", 1133, 12),  # steps that were cycling
        ("rank one", 4, 18),
        ("rank one", 15, 16),  # an alpha that is 1 up to rounding
        ("rank one", 21, 12),  # a system that Woodbury's formula does not solve
        ("rank one", 118, 16),  # a gap that is small by chance, long before the end
    ],
)
def test_problems_that_earlier_versions_did_not_solve(
    kind: str, seed: int, exponent: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.tasks.learners.interior_point.MAX_STEPS", 40)
    problem = make_problem(seed, kind, duplicates=seed % 4 == 0)
    (found,) = l1_svm_path(problem.kernels, problem.classes, [(2.0**exponent,)])
    check(problem, problem.kernels, 2.0**exponent, found)


def test_permuted_kernels_have_permuted_weights() -> None:
    problem = make_problem(1, "gaussian", n=30, p=6)
    order = np.random.default_rng(0).permutation(6)
    (found,) = l1_svm_path(problem.dense(), problem.classes, [(100.0,)])
    (other,) = l1_svm_path(problem.dense().only(order[:6]), problem.classes, [(100.0,)])
    shuffled = GramKernels(problem.grams[order], problem.held_out[order], np.ones(6, dtype=bool))
    (permuted,) = l1_svm_path(shuffled, problem.classes, [(100.0,)])
    np.testing.assert_allclose(permuted.weights, found.weights[order], rtol=1e-6, atol=1e-6)
    assert other.certificate <= MAX_GAP


def test_weights_that_have_no_effect_are_zero() -> None:
    # an interior-point method alone would give small weights to all kernels
    problem = make_problem(0, "gaussian", n=40, p=12)
    (found,) = l1_svm_path(problem.kernels, problem.classes, [(64.0,)])
    assert 0 < np.count_nonzero(found.weights) < 12


@pytest.mark.parametrize("balanced", [True, False])
def test_labels_without_alignment_are_refused(balanced: bool) -> None:
    # an alpha with balanced labels has forms of 0, and is optimal for any weights
    y = np.array([1.0, -1.0] * 5) if balanced else np.array([1.0, -1.0, -1.0, -1.0] * 3)
    rng = np.random.default_rng(0)
    deviations = y - y.mean()
    x = rng.normal(size=(3, len(y)))
    x -= x.mean(axis=1)[:, None]
    x -= np.outer(x @ deviations, deviations) / (deviations @ deviations)
    grams = np.einsum("ki,kj->kij", x, x) / (x**2).sum(axis=1)[:, None, None]
    with pytest.raises(NoWeightsError):
        l1_svm_path(GramKernels(grams, grams, np.ones(3, dtype=bool)), y, [(1.0,)])


def test_a_single_class_is_refused() -> None:
    problem = make_problem(0, "gaussian")
    with pytest.raises(NoWeightsError):
        l1_svm_path(problem.kernels, np.ones(len(problem.y)), [(1.0,)])


def test_classes_so_unequal_that_a_constant_is_optimal() -> None:
    # an alpha with the largest sum has forms of 0: the optimum is 4 for the only sample of its class
    x = np.random.default_rng(2).normal(size=(30, 2))
    x -= x.mean(axis=0)
    x[0] = 0.0
    x -= x.mean(axis=0)
    grams = np.einsum("ik,jk->kij", x, x) / (x**2).sum(axis=0)[:, None, None]
    y = np.append(1.0, -np.ones(29))
    for budget in (1.0, 100.0, 10000.0):
        (found,) = l1_svm_path(GramKernels(grams, grams, np.ones(2, dtype=bool)), y, [(budget,)])
        assert primal_value(grams, y, found) == pytest.approx(4.0, rel=1e-4)


def test_a_gap_that_is_too_large_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = make_problem(0, "gaussian")
    monkeypatch.setattr("kernel_pipeline.tasks.learners.interior_point.MAX_STEPS", 2)
    (found,) = l1_svm_path(problem.kernels, problem.classes, [(256.0,)])
    assert found.certificate > MAX_GAP
