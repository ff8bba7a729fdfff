"""Metrics of predictions, and the registry to which new ones are added."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.registry import Registry


@dataclass(frozen=True)
class Metric:
    """A measure of predictions for one or several problems.

    The primary metric of a problem chooses the regularisation value and is the `error` of the tables. Every other
    metric of the problem is evaluated on the test fold at the chosen value, and is a column of its own in `rows.csv`.

    Examples
    --------
    Register a metric, and remove it again:

    >>> largest = Metric(
    ...     name="largest_error",
    ...     problems=("regression",),
    ...     function=lambda predictions, labels: abs(predictions - labels[:, None]).max(axis=0),
    ...     title="largest absolute error",
    ...     in_label_units=True,
    ... )
    >>> register(largest).name
    'largest_error'
    >>> [metric.name for metric in extra_metrics("regression")]
    ['largest_error']
    >>> METRICS.unregister("largest_error")
    """

    name: str
    """Identifier of the metric, which is also its column in `rows.csv`."""
    problems: tuple[str, ...]
    """Problems that it measures: "regression", "classification" or both."""
    function: Callable[[Floats, Floats], Floats]
    """Function of predictions, (samples, fits), and labels, (samples,), that returns one number per fit."""
    title: str
    """Text for headings and descriptions, such as "misclassification rate"."""
    in_label_units: bool = False
    """Whether the value has the unit of the labels, so that it is scaled when the labels are."""
    primary: bool = False
    """Whether it is the metric that chooses the regularisation value of its problems."""


METRICS: Registry[Metric] = Registry("metric")


def register(metric: Metric) -> Metric:
    """Add a metric to the registry.

    Raises
    ------
    ValueError
        If the name is taken, is not an identifier, or a problem would have two primary metrics.
    """
    if not metric.name.isidentifier():
        raise ValueError(f"a metric is a column of rows.csv: its name is {metric.name!r}, not an identifier")
    for other in METRICS.values():
        if metric.primary and other.primary and set(metric.problems) & set(other.problems) and other != metric:
            raise ValueError(f"{other.name!r} already is the primary metric of {', '.join(other.problems)}")
    return METRICS.register(metric.name)(metric)


def primary_metric(problem: str) -> Metric:
    """Return the metric that chooses the regularisation value of a problem.

    >>> primary_metric("regression").name, primary_metric("classification").name
    ('rmse', 'misclassification')
    """
    return next(metric for metric in METRICS.values() if metric.primary and problem in metric.problems)


def extra_metrics(problem: str) -> tuple[Metric, ...]:
    """Return the metrics of a problem besides its primary one."""
    return tuple(metric for metric in METRICS.values() if not metric.primary and problem in metric.problems)


def misclassification(predictions: Floats, labels: Floats) -> Floats:
    """Return the share of wrong signs, for each column of predictions; 0 counts as +1, and NaN has no sign."""
    wrong = np.mean(np.where(predictions >= 0, 1.0, -1.0) != labels[:, None], axis=0)
    return np.where(np.isnan(predictions).any(axis=0), np.nan, wrong)


def rmse(predictions: Floats, labels: Floats) -> Floats:
    """Return the root of the mean squared error, for each column of predictions."""
    return np.asarray(np.sqrt(np.mean((predictions - labels[:, None]) ** 2, axis=0)))


register(Metric("rmse", ("regression",), rmse, "RMSE", in_label_units=True, primary=True))
register(Metric("misclassification", ("classification",), misclassification, "misclassification rate", primary=True))
