import pickle
from dataclasses import replace

import numpy as np
import pytest

from kernel_pipeline.tasks.learners.svm_solver import GAP, SvmProblem, fit_machines, solve
from kernel_pipeline.tasks.learners.working_sets import (
    SvmState,
    add_contributions,
    choose_working_set,
    libsvm_tolerance,
    next_alpha,
    solve_working_set,
)
from tests.tasks.dense import Floats
from tests.tasks.learners.svm_problems import Problem, dual_variables, exact_machine, two_classes
from tests.tasks.square_rows import SquareRows


def solver_of(problem: Problem, max_working_set: int = 60) -> SvmProblem:
    """Return a solver whose working sets are much smaller than the problem."""
    return SvmProblem(SquareRows(problem.kernel), problem.labels, np.ones(len(problem.kernel)), max_working_set)


def dual_value(problem: Problem, alpha: Floats) -> float:
    beta = problem.labels * alpha
    return float(alpha.sum() - beta @ problem.kernel @ beta / 2)


@pytest.mark.parametrize("cost", [1.0, 100.0, 1e3])
def test_every_round_increases_the_dual_value_and_stays_feasible(cost: float) -> None:
    problem = two_classes()
    solver, state = solver_of(problem), SvmState.start(len(problem.kernel), cost)
    values = [0.0]
    for _ in range(20):
        state = solver.improve(state, *solver.choose(state))
        assert state.alpha.min() >= 0.0
        assert state.alpha.max() <= cost
        assert abs(problem.labels @ state.alpha) < 1e-9 * cost
        for group, label in enumerate((1.0, -1.0)):
            expected = problem.kernel @ np.where(problem.labels == label, state.alpha, 0.0)
            np.testing.assert_allclose(state.images[:, group], expected, rtol=1e-9, atol=1e-12 * cost)
        values.append(dual_value(problem, state.alpha))
    assert np.diff(values).min() > -1e-6 * values[-1]
    best = dual_value(problem, dual_variables(exact_machine(problem, cost), len(problem.kernel)))
    assert values[-1] == pytest.approx(best, rel=2e-3)


def test_the_working_set_has_the_largest_violations_of_both_sides() -> None:
    problem = two_classes(1)
    solver = solver_of(problem)
    state, _ = solve(solver, SvmState.start(len(problem.kernel), 50.0), goal=0.1)
    bounds = np.full(len(problem.kernel), 50.0)
    working, violation = choose_working_set(state, problem.labels, bounds, 60)
    assert len(working) == len(set(working.tolist())) <= 60
    kinks, y, alpha = problem.labels - state.values, problem.labels, state.alpha
    up = [i for i in range(len(y)) if (y[i] > 0 and alpha[i] < 50.0) or (y[i] < 0 and alpha[i] > 0)]
    down = [i for i in range(len(y)) if (y[i] > 0 and alpha[i] > 0) or (y[i] < 0 and alpha[i] < 50.0)]
    assert violation == max(kinks[i] for i in up) - min(kinks[i] for i in down)
    assert set(sorted(up, key=lambda i: -kinks[i])[:30]) <= set(working.tolist())
    assert set(sorted(down, key=lambda i: kinks[i])[:30]) <= set(working.tolist())


def test_a_round_from_parts_of_the_samples_equals_the_whole_round() -> None:
    # Workers hold one part of the samples each; the block and the images are assembled from these parts.
    problem = two_classes(2)
    solver = solver_of(problem)
    state, _ = solve(solver, SvmState.start(len(problem.kernel), 200.0), goal=0.05)
    bounds = np.full(len(problem.kernel), 200.0)
    working, violation = solver.choose(state)
    expected = solver.improve(state, working, violation)

    parts = np.array_split(np.arange(len(problem.kernel)), 3)
    rows = [problem.kernel[np.ix_(working, part)] for part in parts]
    block = np.empty((len(working), len(working)))
    for part, own in zip(parts, rows, strict=True):
        inside = np.flatnonzero(np.isin(working, part))
        block[:, inside] = own[:, np.searchsorted(part, working[inside])]
    result = solve_working_set(state, problem.labels, bounds, working, block, libsvm_tolerance(violation, state.spread))
    images = state.images * result.factors
    for part, own in zip(parts, rows, strict=True):
        piece = images[part]
        add_contributions(piece, own, result.changes)
        images[part] = piece
    np.testing.assert_array_equal(next_alpha(state.alpha, problem.labels, bounds, result), expected.alpha)
    np.testing.assert_allclose(images, expected.images, rtol=1e-12, atol=1e-12)


def test_a_checkpoint_continues_with_the_same_numbers() -> None:
    problem = two_classes(3)
    solver, state = solver_of(problem), SvmState.start(len(problem.kernel), 1e3)
    for _ in range(3):
        state = solver.improve(state, *solver.choose(state))
    again, _ = solve(solver, pickle.loads(pickle.dumps(state)))
    found, _ = solve(solver, state)
    np.testing.assert_array_equal(again.alpha, found.alpha)
    np.testing.assert_array_equal(again.images, found.images)


def test_a_warm_start_gives_the_solution_of_a_cold_start() -> None:
    problem = two_classes(4)
    costs = [2.0**exponent for exponent in range(-4, 15, 2)]
    solver = solver_of(problem)
    warm = fit_machines(solver, costs)
    for cost, fit in zip(costs, warm, strict=True):
        (cold,) = fit_machines(solver, [cost])
        assert max(fit.gap, cold.gap) <= GAP
        np.testing.assert_allclose(fit.fitted, cold.fitted, atol=1e-3 * np.ptp(cold.fitted))
        values = [dual_value(problem, np.abs(found.coefficients)) for found in (fit, cold)]
        assert values[0] == pytest.approx(values[1], rel=2 * GAP)


def test_a_warm_start_is_the_best_feasible_multiple() -> None:
    problem = two_classes(5)
    state, _ = solve(solver_of(problem), SvmState.start(len(problem.kernel), 100.0))
    for cost in (25.0, 400.0, 1e7):
        found = state.at(cost, problem.labels)
        assert found.alpha.max() <= cost * (1 + 1e-12)
        np.testing.assert_allclose(found.images / state.images, found.alpha.max() / state.alpha.max(), rtol=1e-12)
        factors = np.linspace(0.0, cost / 100.0, 1001)[1:]
        best = max(dual_value(problem, factor * state.alpha) for factor in factors)
        assert dual_value(problem, found.alpha) >= best * (1 - 1e-12)


def test_an_indefinite_kernel_is_not_certified() -> None:
    problem = two_classes(6)
    rng = np.random.default_rng(0)
    noise = rng.normal(size=problem.kernel.shape)
    indefinite = replace(problem, kernel=problem.kernel + (noise + noise.T) / 50)
    for cost in (10.0, 1e4):
        _, gap = solve(solver_of(indefinite), SvmState.start(len(problem.kernel), cost))
        assert not gap <= 1e-3
