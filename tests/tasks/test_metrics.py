"""Metrics against scikit-learn on the same predictions, fit by fit."""

import numpy as np
import pytest
import sklearn.metrics

from kernel_pipeline.tasks.metrics import METRICS, Metric, chosen_metric, evaluated_metrics, predicted_classes
from tests.tasks.dense import Floats

FITS = 4
RTOL = 1e-13


def two_classes(seed: int) -> tuple[Floats, Floats]:
    """Return decision values with ties, (samples, 1, fits), and labels."""
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random((40, 1)) < 0.3, 1.0, -1.0)
    return np.round(labels[:, :, None] + 1.5 * rng.normal(size=(40, 1, FITS)), 1), labels


def several_classes(seed: int) -> tuple[Floats, Floats]:
    """Return predicted classes as zeros and ones, and labels; of five classes, one never occurs and one only once."""
    rng = np.random.default_rng(seed)
    true, predicted = rng.integers(0, 3, 40), rng.integers(0, 3, (FITS, 40))
    predicted[0, 0] = 4
    return np.stack([np.eye(5)[fit] for fit in predicted], axis=2), np.eye(5)[true]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("problem", [two_classes, several_classes])
def test_classes(problem: object, seed: int) -> None:
    assert callable(problem)
    predictions, labels = problem(seed)
    true, predicted = predicted_classes(labels[:, :, None])[:, 0], predicted_classes(predictions).T
    expected = {
        "misclassification": [sklearn.metrics.zero_one_loss(true, fit) for fit in predicted],
        "balanced_error": [1 - recall_over_true(true, fit) for fit in predicted],
        "f1": [sklearn.metrics.f1_score(true, fit, average="macro", zero_division=0) for fit in predicted],
    }
    for name, values in expected.items():
        np.testing.assert_allclose(METRICS[name].function(predictions, labels), values, rtol=RTOL, err_msg=name)


def recall_over_true(true: object, predicted: object) -> float:
    """Return the balanced accuracy; scikit-learn's own warns about predicted classes that no label has."""
    classes = np.unique(np.asarray(true))
    recalls = sklearn.metrics.recall_score(true, predicted, labels=classes, average=None, zero_division=0)
    return float(np.mean(recalls))


@pytest.mark.parametrize("seed", range(3))
def test_auc(seed: int) -> None:
    predictions, labels = two_classes(seed)
    assert len(np.unique(predictions[:, 0, 0])) < len(labels)  # there are ties
    expected = [sklearn.metrics.roc_auc_score(labels[:, 0] > 0, fit) for fit in predictions[:, 0].T]
    np.testing.assert_allclose(METRICS["auc"].function(predictions, labels), expected, rtol=RTOL)
    np.testing.assert_allclose(METRICS["auc"].error(predictions, labels), 1 - np.array(expected), rtol=1e-12)
    assert np.isnan(METRICS["auc"].function(predictions, np.ones_like(labels))).all()


def test_log_loss_needs_probabilities() -> None:
    rng = np.random.default_rng(0)
    probabilities = rng.dirichlet([1, 1, 1], size=30)
    true = rng.integers(0, 3, 30)
    found = METRICS["log_loss"].function(probabilities[:, :, None], np.eye(3)[true])
    np.testing.assert_allclose(found, sklearn.metrics.log_loss(true, probabilities), rtol=RTOL)
    labels = np.where(true == 0, 1.0, -1.0)
    found = METRICS["log_loss"].function(probabilities[:, :1, None], labels[:, None])
    np.testing.assert_allclose(found, sklearn.metrics.log_loss(labels, probabilities[:, 0]), rtol=RTOL)


@pytest.mark.parametrize("outputs", [1, 3])
def test_numbers(outputs: int) -> None:
    rng = np.random.default_rng(outputs)
    labels = rng.normal(size=(30, outputs)) * np.arange(1, outputs + 1)
    predictions = labels[:, :, None] + rng.normal(size=(30, outputs, FITS))
    for name, reference in (
        ("mae", sklearn.metrics.mean_absolute_error),
        ("r2", sklearn.metrics.r2_score),
        ("rmse", lambda y, fit: np.sqrt(sklearn.metrics.mean_squared_error(y, fit))),
    ):
        expected = [reference(labels, predictions[:, :, fit]) for fit in range(FITS)]
        np.testing.assert_allclose(METRICS[name].function(predictions, labels), expected, rtol=1e-12, err_msg=name)
    labels[:, 0] = 2.0
    assert np.isnan(METRICS["r2"].function(predictions, labels)).all()


@pytest.mark.parametrize("metric", [metric for metric in METRICS.values() if not metric.needs_probabilities])
def test_a_fit_without_finite_predictions_has_no_value(metric: Metric) -> None:
    predictions, labels = two_classes(0)
    predictions[3, 0, 1] = np.nan
    np.testing.assert_array_equal(np.isnan(metric.function(predictions, labels)), [False, True, False, False])


def test_metrics_that_are_evaluated() -> None:
    names = [metric.name for metric in evaluated_metrics("classification")]
    assert names == ["misclassification", "balanced_error", "auc", "f1"]
    assert chosen_metric("regression").name == "rmse"
    assert chosen_metric("regression", "mae").name == "mae"
    with pytest.raises(LookupError, match=r"there is no metric 'acu'.* Did you mean 'auc'"):
        chosen_metric("classification", "acu")
