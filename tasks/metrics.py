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


class MetricRegistry(NamedRegistry[Metric]):
    """Registry of metrics, in which each problem has one primary metric."""

    def check(self, name: str, entry: Metric) -> None:
        """Raise a `ValueError` if the name is not an identifier, or a problem would have two primary metrics."""
        super().check(name, entry)
        for other in self.values() if entry.primary else ():
            if other.primary and set(entry.problems) & set(other.problems) and other != entry:
                raise ValueError(f"{other.name!r} is already the primary metric of {', '.join(other.problems)}")


METRICS = MetricRegistry("metric", ("kernel_pipeline.tasks.standard_metrics",))
register = METRICS.add


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
