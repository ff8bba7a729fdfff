"""Reference methods, against scikit-learn's dummy and linear models."""

import numpy as np
import pytest
import scipy.sparse
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.svm import SVC

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.linear import Linear, has_few_features
from kernel_pipeline.tasks.learners.majority import Majority
from kernel_pipeline.tasks.learners.mean import Mean
from tests.tasks.alignments import centered_alignment

M = 80
RIDGES, COSTS = (1.0, 0.1, 0.001), (16.0, 64.0, 256.0)


def split_of(target: Floats) -> Split:
    return Split(target, np.arange(40), np.arange(40, 60), np.arange(60, M))


def features(columns: int, seed: int = 0) -> Floats:
    rng = np.random.default_rng(seed)
    return np.round(rng.normal(size=(M, columns)), 1) * (rng.random((M, columns)) < 0.6) + np.arange(columns)


def test_mean_is_that_of_a_dummy_regressor() -> None:
    target = np.random.default_rng(0).normal((3.0, -70.0), size=(M, 2))
    split = split_of(target)
    path = Mean().fit("regression", None, split, FitOptions(metrics=("mae", "r2"))).path
    dummy = DummyRegressor().fit(target[:40], target[:40]).predict(target[60:])
    assert path.test_errors == pytest.approx([np.sqrt(np.mean((dummy - target[60:]) ** 2))])
    assert path.metrics["mae"] == pytest.approx(np.mean(np.abs(dummy - target[60:])))
    assert path.output_errors == pytest.approx(np.sqrt(np.mean((dummy - target[60:]) ** 2, axis=0)))
    assert (path.regularisation, path.at_edge, path.values) == (None, False, [()])


@pytest.mark.parametrize("classes", [2, 3])
def test_majority_is_that_of_a_dummy_classifier(classes: int) -> None:
    labels = np.random.default_rng(1).choice(classes, M, p=[0.2, 0.8] if classes == 2 else [0.2, 0.5, 0.3])
    target = np.where(labels, 1.0, -1.0)[:, None] if classes == 2 else np.eye(3)[labels]
    fit = Majority().fit("classification", None, split_of(target), FitOptions(metrics=("balanced_error",)))
    dummy = DummyClassifier(strategy="most_frequent").fit(target[:40], labels[:40])
    assert fit.path.test_errors == pytest.approx([1 - dummy.score(target[60:], labels[60:])])
    assert fit.path.validation_errors == pytest.approx([1 - dummy.score(target[40:60], labels[40:60])])
    assert fit.path.metrics["balanced_error"] == pytest.approx(1 - 1 / classes)
    assert fit.path.majority_only
    assert np.isnan(fit.train_alignment.biased)


def test_of_equally_frequent_classes_the_first_or_positive_one_is_predicted() -> None:
    assert Majority().prediction(np.array([[1.0], [-1.0]])).tolist() == [1.0]
    assert Majority().prediction(np.eye(3)).tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("columns", [5, 30, 60])
@pytest.mark.parametrize("sparse", [False, True])
def test_linear_regression_is_ridge_on_scaled_features(columns: int, sparse: bool) -> None:
    x = features(columns)
    target = (x[:, :2] @ [1.0, -2.0])[:, None] + np.random.default_rng(3).normal(size=(M, 1))
    split = split_of(target)
    given = scipy.sparse.csr_array(x) if sparse else x
    fit = Linear().fit("regression", given, split, FitOptions(RIDGES))
    centered = x - x[split.train].mean(axis=0)
    centered /= np.linalg.norm(centered[split.train])
    models = [Ridge(alpha=ridge).fit(centered[split.train], target[split.train, 0]) for ridge in RIDGES]
    for errors, samples in ((fit.path.validation_errors, split.validation), (fit.path.test_errors, split.test)):
        expected = [np.sqrt(np.mean((m.predict(centered[samples]) - target[samples, 0]) ** 2)) for m in models]
        assert errors == pytest.approx(expected, rel=1e-6)
    for found, samples in ((fit.train_alignment, split.train), (fit.test_alignment, split.test)):
        kernel, y = centered[samples] @ centered[samples].T, target[samples]
        assert found.biased == pytest.approx(centered_alignment(kernel, y @ y.T))


def test_ridges_of_linear_that_are_not_certified_have_no_errors() -> None:
    x = features(3)
    repeated = np.column_stack([x, x[:, 0]])  # of rank 3, so that a tiny ridge has no accurate solution
    target = (x @ [1.0, -2.0, 0.5])[:, None] + np.random.default_rng(3).normal(size=(M, 1))
    path = Linear().fit("regression", repeated, split_of(target), FitOptions((1.0, 2.0**-30, 2.0**-100))).path
    assert path.certificates is not None
    assert [bool(certificate and certificate > 1e-6) for certificate in path.certificates] == [False, False, True]
    assert [error is None for error in path.validation_errors] == [False, False, True]


@pytest.mark.parametrize("columns", [5, 30])
@pytest.mark.parametrize("weight", [None, "balanced"])
def test_linear_classification_is_a_linear_support_vector_machine(columns: int, weight: str | None) -> None:
    x = np.random.default_rng(5).normal(size=(M, columns))
    labels = np.digitize(x[:, 0] + 0.3 * x[:, 1], [-0.4, 0.6])
    split = split_of(np.eye(3)[labels])
    fit = Linear().fit("classification", x, split, FitOptions(COSTS, class_weight=weight))
    centered = x - x[split.train].mean(axis=0)
    centered /= np.linalg.norm(centered[split.train])
    for place, cost in enumerate(COSTS):
        machine = SVC(C=cost, kernel="linear", class_weight=weight, tol=1e-6)
        machine.fit(centered[split.train], labels[split.train])
        expected = 1 - machine.score(centered[split.test], labels[split.test])
        assert fit.path.test_errors[place] == pytest.approx(expected)


@pytest.mark.parametrize("given", [np.full((M, 3), 0.1), np.ones((M, 70)), scipy.sparse.csr_array(np.ones((M, 70)))])
def test_constant_features_have_no_linear_fit(given: Floats) -> None:
    split = split_of(np.random.default_rng(0).normal(size=(M, 1)))
    with pytest.raises(NoResultError, match="all features are constant on the training set"):
        Linear().fit("regression", given, split, FitOptions(RIDGES))


def test_features_of_any_size_have_the_same_linear_fits() -> None:
    x, target = features(5), np.random.default_rng(0).normal(size=(M, 1))
    plain, large = (
        Linear().fit("regression", size * x, split_of(target), FitOptions(RIDGES)).path for size in (1.0, 2.0**600)
    )
    assert plain.test_errors == large.test_errors


def test_few_features_are_fitted_without_a_kernel() -> None:
    assert [has_few_features(columns, 40) for columns in (9, 10)] == [True, False]
