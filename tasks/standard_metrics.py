"""Define the metrics that are evaluated in every sweep."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.metrics import Metric, misclassification, predicted_classes, register, rmse


def balanced_error(predictions: Floats, labels: Floats) -> Floats:
    """Return the mean, over the classes of the labels, of the fraction of their samples that are misclassified."""
    hits, true, _ = _class_counts(predictions, labels)
    present = true > 0
    return np.asarray(1.0 - np.mean(hits[present] / true[present, None], axis=0)) + _nan_fits(predictions)


def macro_f1(predictions: Floats, labels: Floats) -> Floats:
    """Return the mean F1 score over all classes that occur among the labels or the predictions of a fit."""
    hits, true, predicted = _class_counts(predictions, labels)
    total = true[:, None] + predicted
    scores = np.divide(2.0 * hits, total, out=np.zeros_like(total), where=total > 0)
    return np.asarray(scores.sum(axis=0) / np.count_nonzero(total, axis=0)) + _nan_fits(predictions)


def auc(predictions: Floats, labels: Floats) -> Floats:
    """Return the area under the ROC curve of decision values for two classes; NaN if the labels have one class.

    This is the share of pairs of a positive and a negative sample in which the positive one has the larger decision
    value; ties count one half.
    """
    positive = labels[:, 0] > 0
    pairs = np.count_nonzero(positive) * np.count_nonzero(~positive)
    if not pairs:
        return np.full(predictions.shape[2], np.nan)
    wins = [_count_wins(column[~positive], column[positive]) for column in predictions[:, 0].T]
    return np.asarray(wins) / pairs + _nan_fits(predictions)


def log_loss(probabilities: Floats, labels: Floats) -> Floats:
    """Return the mean negative logarithm of the probability of the true class.

    Parameters
    ----------
    probabilities
        (samples, columns, fits): probabilities of the class +1 of two classes, or of each of several classes.
    """
    if labels.shape[1] == 1:
        true = np.where(labels > 0, probabilities[:, 0], 1.0 - probabilities[:, 0])
    else:
        true = np.sum(probabilities * labels[:, :, None], axis=1)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.mean(np.log(true), axis=0))


def mae(predictions: Floats, labels: Floats) -> Floats:
    """Return the mean absolute error over all samples and outputs, for each fit."""
    return np.asarray(np.mean(np.abs(predictions - labels[:, :, None]), axis=(0, 1)))


def r2(predictions: Floats, labels: Floats) -> Floats:
    """Return the coefficient of determination, averaged over outputs; NaN if the labels of an output are constant."""
    residual = np.sum((predictions - labels[:, :, None]) ** 2, axis=0)
    total = np.sum((labels - labels.mean(axis=0)) ** 2, axis=0)
    if (np.ptp(labels, axis=0) == 0).any():
        return np.full(predictions.shape[2], np.nan)
    return np.asarray(np.mean(1.0 - residual / total[:, None], axis=0))


def _class_counts(predictions: Floats, labels: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the numbers of correct predictions, of labels and of all predictions in each class.

    Returns
    -------
    (classes, fits), (classes,), (classes, fits)
    """
    true, predicted = predicted_classes(labels[:, :, None]), predicted_classes(predictions)
    classes = np.arange(max(2, labels.shape[1]))
    hits = [np.sum((true == number) & (predicted == number), axis=0) for number in classes]
    counts = [np.sum(predicted == number, axis=0) for number in classes]
    return (
        np.array(hits, float),
        np.array([np.sum(true == number) for number in classes], float),
        np.array(counts, float),
    )


def _count_wins(negative: Floats, positive: Floats) -> float:
    """Return the number of pairs in which the positive value is larger; ties count one half."""
    ordered = np.sort(negative)
    below = np.searchsorted(ordered, positive, "left").sum()
    return float(below + np.searchsorted(ordered, positive, "right").sum()) / 2.0


def _nan_fits(predictions: Floats) -> Floats:
    """Return NaN for each fit with a prediction that is NaN, and 0 for the others."""
    return np.where(np.isnan(predictions).any(axis=(0, 1)), np.nan, 0.0)


_CLASSIFICATION, _REGRESSION = ("classification",), ("regression",)
register(
    Metric(
        "rmse", _REGRESSION, rmse, "RMSE", in_label_units=True, primary=True, axis_title="RMSE", has_error_bounds=True
    )
)
register(Metric("misclassification", _CLASSIFICATION, misclassification, "misclassification rate", primary=True))
register(Metric("balanced_error", _CLASSIFICATION, balanced_error, "balanced error"))
register(Metric("auc", _CLASSIFICATION, auc, "AUC", is_score=True, two_classes_only=True))
register(Metric("f1", _CLASSIFICATION, macro_f1, "F1 (macro)", is_score=True))
register(Metric("log_loss", _CLASSIFICATION, log_loss, "log loss", needs_probabilities=True))
register(Metric("mae", _REGRESSION, mae, "mean absolute error", in_label_units=True))
register(Metric("r2", _REGRESSION, r2, "R2", is_score=True))
