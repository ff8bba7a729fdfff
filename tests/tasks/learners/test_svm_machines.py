from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_svmlight_file
from sklearn.svm import SVC

from kernel_pipeline.tasks.learners.one_against_one import sample_weights
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.learners.svm_machines import SvmMachines, fit_svm
from kernel_pipeline.tasks.learners.svm_solver import GAP
from tests.tasks.dense import Floats
from tests.tasks.learners.svm_problems import Problem, dual_variables, exact_machine, of_features, two_classes
from tests.tasks.square_rows import SquareRows

COSTS = [2.0**exponent for exponent in range(-4, 19, 2)]
# Working sets of 100 samples, so that the tests on few samples need several rounds.
CACHE_BYTES = 100**2 * 32


def fit(problem: Problem, costs: list[float], class_weight: str | None = None) -> SvmMachines:
    cache = CACHE_BYTES if len(problem.kernel) <= 500 else None
    return fit_svm(SquareRows(problem.kernel), problem.target, costs, class_weight, cache)


def assert_like_svc(problem: Problem, found: SvmMachines, costs: list[float], class_weight: str | None = None) -> None:
    """Check decision values of two classes to 1e-3 of their spread, and labels against SVC with default tolerance."""
    decisions = found.predict(problem.held_out)[:, 0]
    bounds = sample_weights(problem.target, class_weight)
    assert found.gaps.max() <= GAP
    for number, cost in enumerate(costs):
        machine = exact_machine(problem, cost, class_weight)
        exact, actual = machine.decision_function(problem.held_out), decisions[:, number]
        shares = dual_variables(machine, len(bounds)) / (cost * bounds)
        if not ((shares > 1e-9) & (shares < 1 - 1e-9)).any():
            # Every intercept of an interval is optimal, and that of libsvm may depend on rounding.
            actual = actual + np.median(exact - actual)
        assert np.abs(actual - exact).max() <= 1e-3 * np.ptp(exact)
        clear = np.abs(exact) > 2e-3
        labels = SVC(C=cost, kernel="precomputed", class_weight=class_weight).fit(problem.kernel, problem.labels)
        if np.abs(labels.intercept_[0] - machine.intercept_[0]) < 1e-3:
            predicted = labels.predict(problem.held_out)
            np.testing.assert_array_equal(np.where(actual[clear] > 0, 1.0, -1.0), predicted[clear])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_against_scikit_learn(seed: int, class_weight: str | None) -> None:
    problem = two_classes(seed)
    found = fit(problem, COSTS, class_weight)
    assert_like_svc(problem, found, COSTS, class_weight)
    assert found.fitted is not None
    np.testing.assert_allclose(found.fitted, found.predict(problem.kernel), rtol=1e-9, atol=1e-9)


def some(features: Floats, classes: Floats, train: int, held_out: int) -> tuple[Floats, Floats]:
    chosen = np.random.default_rng(0).permutation(len(features))[: train + held_out]
    return features[chosen], np.where(classes[chosen, None] > 0, 1.0, -1.0)


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_spambase(data_dir: Path, class_weight: str | None) -> None:
    table = np.loadtxt(data_dir / "spambase/spambase.data", delimiter=",")  # with 391 repeated rows
    features, target = some(table[:, :-1], table[:, -1], 800, 300)
    problem = of_features(features, target, 800, (2.0**-10, 2.0**-6))
    assert_like_svc(problem, fit(problem, COSTS[::3], class_weight), COSTS[::3], class_weight)


def test_a9a(data_dir: Path) -> None:
    sparse, classes = load_svmlight_file(str(data_dir / "large/a9a.gz"), n_features=123)
    features, target = some(sparse.toarray(), classes, 2000, 500)
    problem = of_features(features, target, 2000, tuple(2.0**exponent for exponent in range(-7, 0)))
    assert_like_svc(problem, fit(problem, COSTS[::3]), COSTS[::3])


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_the_classes_of_digits(class_weight: str | None) -> None:
    features, classes = load_digits(return_X_y=True)
    features, classes = (
        features[:700],
        classes[:700] % 6,
    )  # classes of different sizes, most of which contain two digits
    problem = of_features(features, np.eye(6)[classes], 400, (2.0**-10, 2.0**-7))
    costs = [100.0, 1e3, 1e5]
    found = fit(problem, costs, class_weight)
    assert found.gaps.max() <= GAP
    assert found.fitted is None
    predicted = found.predict(problem.held_out)
    assert predicted.shape == (300, 6, 3)
    for number, cost in enumerate(costs):
        machine = exact_machine(problem, cost, class_weight)
        np.testing.assert_array_equal(predicted[:, :, number].argmax(axis=1), machine.predict(problem.held_out))


@pytest.mark.parametrize("cost", [1e-12, 1e6, 1e12])
def test_tiny_and_huge_costs(cost: float) -> None:
    problem = two_classes(7)
    found = fit(problem, [cost])
    assert found.gaps[0] <= MAX_GAP
    expected = exact_machine(problem, cost).decision_function(problem.held_out)
    clear = np.abs(expected) > 1e-2 * np.ptp(expected)
    np.testing.assert_array_equal((found.predict(problem.held_out)[:, 0, 0] > 0)[clear], (expected > 0)[clear])


def test_repeated_samples_and_contradicting_labels() -> None:
    problem = two_classes(8)
    twice = np.tile(np.arange(len(problem.kernel)), 2)
    target = problem.target[twice]
    target[:20] *= -1.0
    repeated = Problem(problem.kernel[np.ix_(twice, twice)], target, problem.held_out[:, twice])
    assert_like_svc(repeated, fit_svm(SquareRows(repeated.kernel), target, COSTS[::2]), COSTS[::2])


def test_a_kernel_that_is_constant() -> None:
    problem = two_classes(9)
    found = fit_svm(SquareRows(np.zeros_like(problem.kernel)), problem.target, [0.1, 10.0])
    assert found.gaps.max() <= GAP
    majority = np.sign(problem.target.mean())
    assert (np.sign(found.predict(np.zeros((3, len(problem.kernel))))) == majority).all()


def test_two_samples() -> None:
    found = fit_svm(SquareRows(np.eye(2)), np.array([[1.0], [-1.0]]), [0.5, 100.0])
    # The variables are min(C, 1), and the margins as well.
    np.testing.assert_allclose(found.predict(np.eye(2))[:, 0], [[0.5, 1.0], [-0.5, -1.0]], rtol=1e-5)


def test_one_class_is_an_error() -> None:
    with pytest.raises(ValueError, match="both classes must occur"):
        fit_svm(SquareRows(np.eye(3)), np.ones((3, 1)), [1.0])
