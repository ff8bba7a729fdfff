"""Support vector machines on single columns, against the interior-point method and libsvm."""

import numpy as np
import pytest
from sklearn.svm import SVC

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.column_svm import fit_column_machine
from kernel_pipeline.tasks.learners.single_column_svm import GroupedColumn, fit_single_columns

COSTS = [2.0**exponent for exponent in (-4, 0, 4, 8, 12)]
N = 120


def problem(seed: int, kind: str) -> tuple[Floats, Floats]:
    """Return a centered column of norm one, and labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(N) < 0.4, 1.0, -1.0) if seed % 2 else np.repeat([1.0, -1.0], N // 2)
    raw: dict[str, Floats] = {
        "counts": rng.poisson(0.3 + 0.4 * (y > 0)).astype(float),
        "binary": (rng.random(N) < 0.1 + 0.3 * (y > 0)).astype(float),
        "numbers": rng.normal(size=N) + 0.5 * y,
        "separable": y + 0.1 * rng.random(N),
    }
    column = raw[kind] - raw[kind].mean()
    return column / np.linalg.norm(column), y


def objective(w: float, b: float, cost: float, column: Floats, y: Floats, weights: Floats) -> float:
    return w**2 / 2 + cost * float(weights @ np.maximum(0.0, 1.0 - y * (w * column + b)))


@pytest.mark.parametrize("kind", ["counts", "binary", "numbers", "separable"])
@pytest.mark.parametrize("seed", range(4))
def test_the_objective_is_that_of_the_interior_point_method(kind: str, seed: int) -> None:
    column, y = problem(seed, kind)
    weights = np.where(y > 0, 1.7, 0.6) if seed > 1 else np.ones(N)
    found = fit_single_columns([GroupedColumn.of(column, y, weights)], COSTS)
    assert found.gaps.max() <= 1e-9
    for place, cost in enumerate(COSTS):
        machine = fit_column_machine(np.sqrt(cost) * column[:, None], y, weights)
        other = objective(np.sqrt(cost) * machine.coefficients[0], machine.intercept, cost, column, y, weights)
        own = objective(found.slopes[0, place], found.intercepts[0, place], cost, column, y, weights)
        assert own <= other * (1 + 1e-9)
        assert own == pytest.approx(other, rel=2e-6)  # the gap at which the other method stops


@pytest.mark.parametrize("kind", ["counts", "numbers"])
def test_the_classifier_is_that_of_libsvm(kind: str) -> None:
    column, y = problem(3, kind)
    found = fit_single_columns([GroupedColumn.of(column, y, np.ones(N))], COSTS[:3])
    for place, cost in enumerate(COSTS[:3]):
        machine = SVC(C=cost, kernel="precomputed", tol=1e-6).fit(np.outer(column, column), y)
        slope = float(machine.dual_coef_[0] @ column[machine.support_])
        assert found.slopes[0, place] == pytest.approx(slope, rel=1e-4, abs=1e-6)


def test_a_column_among_others_has_exactly_the_same_fits() -> None:
    columns = [
        GroupedColumn.of(*problem(seed, kind), np.ones(N)) for seed in range(3) for kind in ("counts", "numbers")
    ]
    together = fit_single_columns(columns, COSTS)
    for number, column in enumerate(columns):
        alone = fit_single_columns([column], COSTS)
        assert (alone.slopes[0] == together.slopes[number]).all()
        assert (alone.intercepts[0] == together.intercepts[number]).all()


def test_a_column_without_information_has_slope_zero() -> None:
    y, column = np.tile([1.0, 1.0, -1.0, -1.0], 5), np.tile([1.0, -1.0], 10)
    found = fit_single_columns([GroupedColumn.of(column, y, np.ones(20))], COSTS)
    assert not found.slopes.any()
    assert not found.intercepts.any()  # every intercept from -1 to 1 is optimal, and this is the middle


def test_equal_values_and_labels_are_one_sample_of_a_larger_weight() -> None:
    column = GroupedColumn.of(
        np.array([0.0, 2.0, 0.0, 2.0, 2.0]), np.array([1.0, 1.0, 1.0, -1.0, 1.0]), np.array([1.0, 2.0, 3.0, 4.0, 5.0])
    )
    assert column.values.tolist() == [2.0, 0.0, 2.0]
    assert column.labels.tolist() == [-1.0, 1.0, 1.0]
    assert column.weights.tolist() == [4.0, 4.0, 7.0]
