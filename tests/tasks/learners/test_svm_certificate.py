import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from kernel_pipeline.tasks.learners.svm_certificate import (
    MAX_GAP,
    best_intercept,
    best_multiple,
    intercept,
    relative_duality_gap,
)
from tests.tasks.dense import Floats
from tests.tasks.learners.svm_problems import dual_variables, exact_machine, two_classes

COSTS = [0.1, 10.0, 1e3, 1e5, 1e7]


def slacks(values: Floats, labels: Floats, bounds: Floats) -> float:
    return float(bounds @ np.maximum(0.0, 1.0 - labels * values))


@pytest.mark.parametrize("seed", range(5))
def test_the_best_intercept_and_the_best_multiple_are_minima(seed: int) -> None:
    rng = np.random.default_rng(seed)
    images, bounds = 2.0 * rng.normal(size=30), rng.uniform(0.5, 2.0, size=30)
    labels = np.where(rng.random(30) > 0.3, 1.0, -1.0)
    found = slacks(images + best_intercept(images, labels, bounds), labels, bounds)
    assert found <= min(slacks(images + shift, labels, bounds) for shift in np.linspace(-8.0, 8.0, 2001)) + 1e-12
    margins = labels * images + 0.5
    for square in (0.1, 3.0, 200.0):

        def primal(factor: float, square: float = square) -> float:
            return factor**2 * square / 2 + float(bounds @ np.maximum(0.0, 1.0 - factor * margins))

        expected = minimize_scalar(primal, bounds=(0.0, 50.0), method="bounded", options={"xatol": 1e-10}).fun
        assert primal(float(best_multiple(margins, bounds, np.array(square)))) == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("cost", COSTS[:3])  # beyond, libsvm's float32 kernels limit its precision
def test_gaps_of_libsvm(cost: float) -> None:
    problem = two_classes()
    y, bounds = problem.labels, np.full(len(problem.kernel), cost)
    machine = exact_machine(problem, cost)
    alpha = dual_variables(machine, len(y))
    images = problem.kernel @ (y * alpha)
    assert relative_duality_gap(images, y, alpha, bounds) < 1e-6
    assert intercept(images, y, alpha, bounds) == pytest.approx(machine.intercept_[0], abs=1e-6)
    # A point far from the optimum has a large gap.
    other = np.zeros(len(y))
    other[[np.argmax(y > 0), np.argmax(y < 0)]] = cost
    assert relative_duality_gap(problem.kernel @ (y * other), y, other, bounds) > 0.1
    assert relative_duality_gap(np.zeros(len(y)), y, np.zeros(len(y)), bounds) == 1.0


@pytest.mark.parametrize("cost", COSTS)
def test_the_default_tolerance_of_libsvm_is_certified(cost: float) -> None:
    # With the gap of the classifier itself, instead of its best multiple, huge values of C would not be certified.
    from sklearn.svm import SVC

    problem = two_classes(1)
    y = problem.labels
    alpha = dual_variables(SVC(C=cost, kernel="precomputed").fit(problem.kernel, y), len(y))
    assert relative_duality_gap(problem.kernel @ (y * alpha), y, alpha, np.full(len(y), cost)) < MAX_GAP


def test_the_gap_bounds_the_distance_from_the_optimal_value() -> None:
    problem = two_classes(2)
    y, bounds = problem.labels, np.full(len(problem.kernel), 100.0)
    best = dual_variables(exact_machine(problem, 100.0), len(y))

    def dual(alpha: Floats) -> float:
        return float(alpha.sum() - (y * alpha) @ problem.kernel @ (y * alpha) / 2)

    other = np.where(best > 0.0, best, 0.0)
    for label in (-1.0, 1.0):  # move weight within each class, so that the sum of y_i alpha_i stays zero
        first, second = np.flatnonzero((y == label) & (best > 10.0) & (best < 90.0))[:2]
        other[[first, second]] += [5.0, -5.0]
    gap = relative_duality_gap(problem.kernel @ (y * other), y, other, bounds)
    assert 0.0 < (dual(best) - dual(other)) / dual(best) <= gap < 0.1


def test_an_indefinite_kernel_has_no_certificate() -> None:
    problem = two_classes()
    y = problem.labels
    alpha = dual_variables(exact_machine(problem, 100.0), len(y))
    assert np.isnan(relative_duality_gap(-problem.kernel @ (y * alpha), y, alpha, np.full(len(y), 100.0)))
