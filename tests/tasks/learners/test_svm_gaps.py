"""Certificates of the paths that libsvm fits."""

import numpy as np
import pytest

from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.learners import svm
from kernel_pipeline.tasks.learners.svm import fit_svm_path
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from tests.tasks.dense import Floats
from tests.tasks.learners.svm_problems import Problem, dual_variables, exact_machine, two_classes

COSTS = [2.0**exponent for exponent in range(-4, 19, 2)]


def plain_gap(kernel: Floats, labels: Floats, alpha: Floats, bounds: Floats) -> float:
    """Return the relative gap of a classifier itself, with the best of many intercepts."""
    values = kernel @ (labels * alpha)
    square = float((labels * alpha) @ values)
    losses = [bounds @ np.maximum(0.0, 1.0 - labels * (values + shift)) for shift in labels - values]
    primal = square / 2 + float(min(losses))
    return (primal - float(alpha.sum()) + square / 2) / primal


@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_two_classes(class_weight: str | None) -> None:
    problem = two_classes()
    found = fit_svm_path(problem.kernel, problem.target, COSTS, class_weight)
    assert found.certificates is not None
    assert found.certificates.max() <= MAX_GAP
    assert found.certificates.min() >= 0.0
    # For a small C, the best multiple of the classifier is the classifier itself.
    from sklearn.svm import SVC

    y = problem.labels
    alpha = dual_variables(SVC(C=64.0, kernel="precomputed", class_weight=class_weight).fit(problem.kernel, y), len(y))
    counts = {label: np.sum(y == label) for label in (-1.0, 1.0)}
    weights = np.array([len(y) / (2 * counts[label]) if class_weight else 1.0 for label in y])
    expected = plain_gap(problem.kernel, y, alpha, 64.0 * weights)
    assert found.certificates[COSTS.index(64.0)] == pytest.approx(expected, rel=0.1)


def test_several_classes_have_the_largest_gap_of_their_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    features = rng.normal(size=(120, 2))
    classes = np.digitize(features[:, 0] + 0.5 * rng.normal(size=120), [-0.5, 0.3, 1.0])
    kernel = np.exp(-((features[:, None] - features) ** 2).sum(axis=2))
    # Coefficients that belong to another pair, or values with another intercept, would not be close to optimal.
    for tolerance, least, most in ((1e-3, 1e-6, MAX_GAP), (1e-9, 0.0, 1e-7)):
        monkeypatch.setattr(svm, "TOLERANCES", (tolerance,))
        for class_weight in (None, "balanced"):
            found = fit_svm_path(kernel, np.eye(4)[classes], [2.0], class_weight)
            assert found.certificates is not None
            assert least <= found.certificates[0] <= most


def test_a_fit_above_the_largest_gap_is_repeated_with_a_smaller_tolerance(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_classes(1)
    monkeypatch.setattr(svm, "TOLERANCES", (0.5, 1e-3))
    found = fit_svm_path(problem.kernel, problem.target, [1e3])
    assert found.certificates is not None
    assert found.certificates[0] <= MAX_GAP
    exact = exact_machine(problem, 1e3).decision_function(problem.held_out)
    np.testing.assert_allclose(found.predict(problem.held_out)[:, 0, 0], exact, atol=5e-3)


def test_values_without_a_certificate_have_no_predictions(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = two_classes(1)
    monkeypatch.setattr(svm, "TOLERANCES", (0.5,))
    found = fit_svm_path(problem.kernel, problem.target, [1e-3, 1e3])
    assert found.certificates is not None
    assert found.certificates[0] <= MAX_GAP < found.certificates[1]
    for predictions in (found.train, found.predict(problem.held_out)):
        assert np.isfinite(predictions[:, :, 0]).all()
        assert np.isnan(predictions[:, :, 1]).all()
    with pytest.raises(NotSolvedError, match=r"duality gap of every C is above 0.001; decrease 'to' in \[fit\] svm"):
        fit_svm_path(problem.kernel, problem.target, [1e3])


def test_an_indefinite_kernel_is_not_certified() -> None:
    problem = two_classes(6)
    indefinite = Problem(-problem.kernel, problem.target, problem.held_out)
    with pytest.raises(NotSolvedError, match="positive semi-definite"):
        fit_svm_path(indefinite.kernel, indefinite.target, [1e3])
