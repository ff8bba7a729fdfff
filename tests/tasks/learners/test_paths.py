from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.preprocessing import KernelCenterer
from sklearn.svm import SVC

import kernel_pipeline.tasks.learners.paths
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, fit_path, measure_path
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.metrics import METRICS, Metric, misclassification, primary_metric, register, rmse
from tests.tasks import dense
from tests.tasks.dense import Floats

RIDGES = [10.0, 1.0, 0.1, 1e-2, 1e-3, 1e-4, 1e-6]
COSTS = [1e-3, 0.1, 1.0, 10.0, 1e3]


def test_misclassification_counts_wrong_signs() -> None:
    labels = np.array([1.0, -1.0, 1.0, -1.0])
    predictions = np.array([[0.3, -2.0, 1e-9, 0.1], [-0.3, 2.0, 1e-9, -0.1], [5.0, -1e-9, 5.0, -3.0]]).T
    np.testing.assert_array_equal(misclassification(predictions[:, None], labels[:, None]), [0.25, 0.5, 0.0])
    # 0 counts as +1, whatever the sign of the zero
    for decisions, expected in (([0.0, -1.0, -0.0, -1.0], 0.0), ([1.0, 0.0, 1.0, -0.0], 0.5)):
        np.testing.assert_array_equal(misclassification(np.reshape(decisions, (4, 1, 1)), labels[:, None]), [expected])


def test_misclassification_of_several_classes() -> None:
    labels = np.eye(3)[[0, 1, 2, 2]]
    predictions = np.stack([np.eye(3)[[0, 1, 2, 2]], np.eye(3)[[0, 2, 1, 2]], np.eye(3)[[1, 0, 0, 1]]], axis=2)
    np.testing.assert_array_equal(misclassification(predictions, labels), [0.0, 0.5, 1.0])
    predictions[1, 1, 1] = np.nan
    np.testing.assert_array_equal(misclassification(predictions, labels), [0.0, np.nan, 1.0])


def test_rmse() -> None:
    predictions = np.array([[1.0, 0.0], [2.0, 2.0], [3.0, -1.0], [4.0, 4.0]])
    labels = np.array([1.0, 2.0, 3.0, 4.0])
    np.testing.assert_allclose(rmse(predictions[:, None], labels[:, None]), [0.0, np.sqrt(17.0) / 2.0], rtol=1e-15)


def test_each_task_has_its_metric() -> None:
    metrics = {problem: primary_metric(problem).name for problem in ("regression", "classification")}
    assert metrics == {"regression": "rmse", "classification": "misclassification"}


def make_problem(seed: int, task: str) -> tuple[Floats, Split]:
    rng = np.random.default_rng(seed)
    m = 90
    features = rng.normal(size=(m, 3))
    target = np.sin(2.0 * features[:, 0]) + 0.3 * rng.normal(size=m) + 2.0
    if task == "classification":
        target = np.where(target > 2.2, 1.0, -1.0)
    kernel = dense.gaussians(features, (-2, -2))[0].astype(np.float64)
    # the validation and test sets have different sizes and are interleaved, so that confusing them is detected
    shuffled = rng.permutation(m)
    return kernel, Split(target[:, None], np.sort(shuffled[:50]), np.sort(shuffled[50:63]), np.sort(shuffled[63:]))


def path_of(task: str, kernel: Floats, split: Split, values: list[float]) -> PathResult:
    """Fit the path of a kernel that is not centered."""
    return fit_path(task, TrialKernel.of(kernel, split.train, split.held_out), split, FitOptions(values))


def predicted(split: Split, made_up: Callable[[Floats], Floats]) -> FittedPath:
    """Return artificial predictions, computed from the labels; the held-out samples are in one block."""
    return FittedPath(made_up(split.target[split.train]), lambda rows: made_up(split.target[split.held_out]))


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_against_a_plain_script(task: str, seed: int) -> None:
    kernel, split = make_problem(seed, task)
    target, train, validation, test = split.labels, split.train, split.validation, split.test
    values = RIDGES if task == "regression" else COSTS
    centerer = KernelCenterer().fit(kernel[np.ix_(train, train)])
    K_train, K_validation, K_test = (
        centerer.transform(kernel[np.ix_(rows, train)]) for rows in (train, validation, test)
    )
    train_errors: list[float] = []
    validation_errors: list[float] = []
    test_errors: list[float] = []
    sets = (
        (K_train, train, train_errors),
        (K_validation, validation, validation_errors),
        (K_test, test, test_errors),
    )
    for value in values:
        if task == "regression":
            ridge = KernelRidge(alpha=value, kernel="precomputed").fit(K_train, target[train] - target[train].mean())
            for K, rows, errors in sets:
                predicted = ridge.predict(K) + target[train].mean()
                errors.append(float(np.sqrt(np.mean((predicted - target[rows]) ** 2))))
        else:
            machine = SVC(C=value, kernel="precomputed").fit(K_train, target[train])
            for K, rows, errors in sets:
                errors.append(float(np.mean(machine.predict(K) != target[rows])))
    best = min(range(len(values)), key=lambda index: (validation_errors[index], index))

    before = kernel.copy()
    path = path_of(task, kernel, split, values)
    np.testing.assert_array_equal(kernel, before)
    assert path.values == [(value,) for value in values]
    np.testing.assert_allclose(np.array(path.train_errors), train_errors, rtol=1e-8)
    np.testing.assert_allclose(np.array(path.validation_errors), validation_errors, rtol=1e-8)
    np.testing.assert_allclose(np.array(path.test_errors), test_errors, rtol=1e-8)
    assert path.best == best
    assert all(isinstance(error, float) for error in (*path.validation_errors, *path.test_errors))


def test_the_best_values_of_the_problems_above_are_inside_the_path() -> None:
    # If the best value were always the first or the last, the tests could not detect a wrong choice.
    chosen = {path_of("regression", *make_problem(seed, "regression"), RIDGES).best for seed in range(4)}
    assert chosen - {0, len(RIDGES) - 1}


@pytest.mark.parametrize(("task", "values"), [("regression", RIDGES), ("classification", COSTS)])
def test_ties_choose_the_most_regularised_value(task: str, values: list[float]) -> None:
    # With a constant kernel, every value of the path gives the same predictions.
    kernel, split = make_problem(0, task)
    path = path_of(task, np.ones_like(kernel), split, values)
    assert len(set(path.validation_errors)) == 1
    assert path.best == 0


def test_ties_that_are_not_the_first_values(monkeypatch: pytest.MonkeyPatch) -> None:
    # Classification errors often tie; these artificial predictions tie at the values 1 and 2, counted from 0.
    kernel, split = make_problem(0, "classification")

    def made_up(square: Floats, labels: Floats, values: list[float], weights: None) -> FittedPath:
        return predicted(split, lambda right: np.stack([-right, right, right, -right], axis=2))

    monkeypatch.setattr(kernel_pipeline.tasks.learners.paths, "fit_svm_path", made_up)
    path = path_of("classification", kernel, split, [1.0, 2.0, 3.0, 4.0])
    assert path.train_errors == path.validation_errors == path.test_errors == [1.0, 0.0, 0.0, 1.0]
    assert path.best == 1


def test_held_out_labels_change_errors_but_not_predictions() -> None:
    # The test fold must not affect the choice.
    kernel, split = make_problem(1, "regression")
    path = path_of("regression", kernel, split, RIDGES)
    changed = split.target.copy()
    changed[split.test] += 100.0
    other = path_of("regression", kernel, replace(split, target=changed), RIDGES)
    assert other.best == path.best
    assert other.validation_errors == path.validation_errors
    assert other.test_errors != path.test_errors
    hidden = kernel.copy()
    hidden[np.ix_(split.test, split.test)] = 7.0
    assert path_of("regression", hidden, split, RIDGES) == path


def test_a_value_without_a_fit_has_no_errors_and_is_never_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel, split = make_problem(0, "regression")

    def path_with_gaps(right: Floats) -> Floats:
        return np.stack([np.full_like(right, np.nan), right + 2.0, right + 1.0, np.full_like(right, np.nan)], axis=2)

    def made_up(square: Floats, labels: Floats, values: list[float]) -> FittedPath:
        return replace(predicted(split, path_with_gaps), certificates=np.array([np.nan, 0.0, 1e-9, 0.1]))

    monkeypatch.setattr(kernel_pipeline.tasks.learners.paths, "fit_ridge_path", made_up)
    path = path_of("regression", kernel, split, [4.0, 3.0, 2.0, 1.0])
    assert path.certificates == [None, 0.0, 1e-9, 0.1]
    for errors in (path.train_errors, path.validation_errors, path.test_errors):
        assert errors == [None, pytest.approx(2.0), pytest.approx(1.0), None]
    assert path.best == 2


def test_a_kernel_that_is_positive_definite_only_with_a_large_ridge() -> None:
    kernel, split = make_problem(0, "regression")
    rng = np.random.default_rng(0)
    v = rng.normal(size=len(kernel))
    inner = v[split.train] - v[split.train].mean()
    v[split.train] = inner
    kernel = kernel - 3.0 * np.outer(v, v) / (inner @ inner)  # an eigenvalue of about -3 on the training set
    path = path_of("regression", kernel, split, [10.0, 5.0, 1e-3])
    assert path.validation_errors[2] is path.test_errors[2] is None
    assert None not in (*path.validation_errors[:2], *path.test_errors[:2])
    assert path.best < 2


@pytest.fixture
def metrics() -> Iterator[list[str]]:
    """Register three metrics of regression, of which one has the unit of the labels."""
    found = [
        Metric(
            "largest", ("regression",), lambda p, y: np.abs(p - y[:, :, None]).max(axis=(0, 1)), "largest error", True
        ),
        Metric("positive", ("regression",), lambda p, _: np.mean(p > 0, axis=(0, 1)), "share of positive predictions"),
        Metric("undefined", ("regression",), lambda p, _: np.full(p.shape[2], np.nan), "nothing"),
    ]
    for metric in found:
        register(metric)
    yield [metric.name for metric in found]
    for metric in found:
        METRICS.unregister(metric.name)


def test_further_metrics_are_measured_on_the_test_fold_at_the_best_value(metrics: list[str]) -> None:
    labels = np.array([[1.0], [-2.0]])
    validation = np.array([[0.0, 1.0, 0.5], [0.0, -2.0, 0.5]])  # the second value is the best
    test = np.array([[0.0, 2.0, 5.0], [0.0, 1.0, 5.0]])
    sets = (validation[:, None], validation[:, None], test[:, None])
    predicted = PathPredictions(*sets, labels, labels, labels)
    path = measure_path("regression", [(4.0,), (2.0,), (1.0,)], predicted, metrics=metrics)
    assert path.best == 1
    assert path.metrics == {"largest": 3.0, "positive": 1.0, "undefined": None}
    assert path.in_units(4.0).metrics == {"largest": 12.0, "positive": 1.0, "undefined": None}
    assert measure_path("regression", [(4.0,), (2.0,), (1.0,)], predicted).metrics == {}
    with pytest.raises(LookupError, match=r"there is no metric 'larges'.*Did you mean 'largest'"):
        measure_path("regression", [(4.0,), (2.0,), (1.0,)], predicted, metrics=["larges"])


@pytest.mark.parametrize(
    ("values", "best", "expected"),
    [([1.0], 0, False), ([1.0, 2.0], 0, True), ([4.0, 2.0, 1.0], 1, False), ([4.0, 2.0, 1.0], 2, True)],
)
def test_a_value_is_at_the_edge_if_there_are_several_and_it_is_the_first_or_the_last(
    values: list[float], best: int, expected: bool
) -> None:
    errors: list[float | None] = [0.5] * len(values)
    assert PathResult([(value,) for value in values], errors, errors, errors, best).at_edge is expected
