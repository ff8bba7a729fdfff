"""Define the metrics of predictions and their registry."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.registry import NamedRegistry


@dataclass(frozen=True)
class Metric:
    """A measure of predictions for one or several problems.

    The regularisation value is chosen by the primary metric of a problem, which is also the `error` of the tables,
    unless the config names another metric. Every metric of the problem that can be computed from the predictions is
    evaluated on the test fold at the chosen value. Each metric is a separate column in `rows.csv`.

    Examples
    --------
    Register a metric, and remove it again:

    >>> largest = Metric(
    ...     name="largest_error",
    ...     problems=("regression",),
    ...     function=lambda predictions, labels: abs(predictions - labels[:, :, None]).max(axis=(0, 1)),
    ...     title="largest absolute error",
    ...     in_label_units=True,
    ... )
    >>> register(largest).name
    'largest_error'
    >>> [metric.name for metric in evaluated_metrics("regression")]
    ['rmse', 'mae', 'r2', 'largest_error']
    >>> METRICS.unregister("largest_error")
    """

    name: str
    """Identifier of the metric, which is also its column in `rows.csv`."""
    problems: tuple[str, ...]
    """Problems for which the metric is defined: "regression", "classification" or both."""
    function: Callable[[Floats, Floats], Floats]
    """Function of predictions, (samples, columns, fits), and labels, (samples, columns); it returns one number per fit.

    Regressions have one column per output. Two classes have one column, with the labels -1 and +1 and decision values
    as predictions; C > 2 classes have C columns of zeros and ones.
    """
    title: str
    """Text for headings and descriptions, such as "misclassification rate"."""
    in_label_units: bool = False
    """Whether the value has the unit of the labels, so that it is scaled when the labels are."""
    primary: bool = False
    """Whether the regularisation value of its problems is chosen by this metric, unless the config names another."""
    is_score: bool = False
    """Whether larger values are better. The best value is 1, and the error in tables is 1 minus the score."""
    two_classes_only: bool = False
    """Whether the metric is not defined for more than two classes."""
    needs_probabilities: bool = False
    """Whether predictions must be probabilities. For decision values, the column of the metric is empty."""
    axis_title: str = "error"
    """Short text for the axes of figures."""
    has_error_bounds: bool = False
    """Whether Theorems 16 and 17 of the paper are evaluated if this metric chooses the ridge of a regression."""

    def error(self, predictions: Floats, labels: Floats) -> Floats:
        """Return the error of each fit, for which smaller is better: the metric itself, or 1 minus a score."""
        values = self.function(predictions, labels)
        return 1.0 - values if self.is_score else values

    @property
    def error_title(self) -> str:
        """Return the title of the error.

        >>> METRICS["auc"].error_title, METRICS["rmse"].error_title
        ('1 - AUC', 'RMSE')
        """
        return f"1 - {self.title}" if self.is_score else self.title


METRICS: NamedRegistry[Metric] = NamedRegistry("metric")


def register(metric: Metric) -> Metric:
    """Add a metric to the registry.

    Raises
    ------
    ValueError
        If the name is taken, is not an identifier, or a problem would have two primary metrics.
    """
    for other in METRICS.values():
        if metric.primary and other.primary and set(metric.problems) & set(other.problems) and other != metric:
            raise ValueError(f"{other.name!r} is already the primary metric of {', '.join(other.problems)}")
    return METRICS.add(metric)


def primary_metric(problem: str) -> Metric:
    """Return the metric by which the regularisation value of a problem is chosen by default.

    >>> primary_metric("regression").name, primary_metric("classification").name
    ('rmse', 'misclassification')
    """
    return next(metric for metric in METRICS.values() if metric.primary and problem in metric.problems)


def chosen_metric(problem: str, name: str = "") -> Metric:
    """Return the metric with a name, or the primary metric of a problem if the name is empty.

    Raises
    ------
    LookupError
        If there is no such metric.
    """
    if not name:
        return primary_metric(problem)
    if name not in METRICS:
        raise LookupError(METRICS.unknown_message(name))
    return METRICS[name]


def evaluated_metrics(problem: str, columns: int = 1) -> tuple[Metric, ...]:
    """Return the metrics of a problem that can be computed from the predictions of the learners.

    Parameters
    ----------
    columns
        Number of label columns: one for two classes, and otherwise one per class.

    >>> [metric.name for metric in evaluated_metrics("classification", columns=3)]
    ['misclassification', 'balanced_error', 'f1']
    """
    several_classes = problem == "classification" and columns > 1
    return tuple(
        metric
        for metric in METRICS.values()
        if problem in metric.problems
        and not metric.needs_probabilities
        and not (several_classes and metric.two_classes_only)
    )


def misclassification(predictions: Floats, labels: Floats) -> Floats:
    """Return the fraction of misclassified samples of each fit; a decision value of 0 counts as +1, NaN gives NaN."""
    wrong = np.mean(predicted_classes(predictions) != predicted_classes(labels[:, :, None]), axis=0)
    return np.where(np.isnan(predictions).any(axis=(0, 1)), np.nan, wrong)


def predicted_classes(predictions: Floats) -> Integers:
    """Return the class of each sample and fit: 0 or 1 by the sign of one column, or the column with the largest value.

    Parameters
    ----------
    predictions
        (samples, columns, fits)

    Returns
    -------
    (samples, fits)
    """
    if predictions.shape[1] == 1:
        return np.asarray(predictions[:, 0] >= 0, np.int64)
    return np.asarray(np.argmax(predictions, axis=1), np.int64)


def rmse(predictions: Floats, labels: Floats) -> Floats:
    """Return the root mean squared error over all samples and outputs, for each fit."""
    return np.asarray(np.sqrt(np.mean((predictions - labels[:, :, None]) ** 2, axis=(0, 1))))


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
