"""A regularisation path: one fit per value, the best one on the validation fold, and its error on the test fold."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.learners.ridge import ridge_path
from kernel_pipeline.tasks.learners.svm import svm_path
from kernel_pipeline.tasks.metrics import METRICS, primary_metric


@dataclass(frozen=True)
class PathResult:
    """Errors along a path in the primary metric of the problem, None where a fit has no finite predictions.

    The best value is the most regularised one among those with the smallest validation error.
    """

    values: list[tuple[float, ...]]
    """Parameters of each fit; most methods have one."""
    train_errors: list[float | None]
    validation_errors: list[float | None]
    test_errors: list[float | None]
    best: int
    """Index of the best value."""
    certificates: list[float] | None = None
    """Certificate of each fit, if the method has one per value."""
    majority_only: bool = False
    """Whether the best fit predicts the training set's majority class for every test sample (classification)."""
    metrics: dict[str, float | None] = field(default_factory=dict)
    """Further metrics of the best fit on the test fold, by name; None where one is not finite."""

    @property
    def at_edge(self) -> bool:
        """Whether the best regularisation value, the last parameter, is the first or the last of several."""
        grid = {value[-1] for value in self.values}
        return len(grid) > 1 and self.values[self.best][-1] in (min(grid), max(grid))

    def in_units(self, unit: float) -> "PathResult":
        """Return the path for labels that are `unit` times as large; a power of two changes no digit."""

        def scaled(errors: list[float | None]) -> list[float | None]:
            return [None if error is None else unit * error for error in errors]

        return replace(
            self,
            train_errors=scaled(self.train_errors),
            validation_errors=scaled(self.validation_errors),
            test_errors=scaled(self.test_errors),
            metrics={
                name: value if value is None or not METRICS[name].in_label_units else unit * value
                for name, value in self.metrics.items()
            },
        )


@dataclass(frozen=True)
class PathPredictions:
    """Predictions of all fits of a path, (samples, values), and the labels, (samples,), of the three sets."""

    train: Floats
    validation: Floats
    test: Floats
    train_labels: Floats
    validation_labels: Floats
    test_labels: Floats


def fit_path(
    task: str,
    centered: Floats,
    target: Floats,
    train: Integers,
    validation: Integers,
    test: Integers,
    values: Sequence[float],
    metrics: Sequence[str] = (),
) -> PathResult:
    """Fit the whole path on the training samples and measure it on the other two sets.

    Parameters
    ----------
    task
        "regression" (kernel ridge regression) or "classification" (support vector machine).
    centered
        (m, n): the kernel of all samples against the training samples, from `center_on`.
    values
        Regularisation values, from the most to the least regularised.
    metrics
        Names of the metrics to evaluate besides the primary one.
    """
    fit = ridge_path if task == "regression" else svm_path
    measured = np.concatenate([train, validation, test])
    predictions = fit(centered[train], target[train], centered[measured], values)
    fitted, validated, tested = np.split(predictions, [len(train), len(train) + len(validation)])
    predicted = PathPredictions(fitted, validated, tested, target[train], target[validation], target[test])
    return measure_path(task, [(float(value),) for value in values], predicted, metrics=metrics)


def measure_path(
    task: str,
    values: Sequence[tuple[float, ...]],
    predicted: PathPredictions,
    certificates: list[float] | None = None,
    metrics: Sequence[str] = (),
) -> PathResult:
    """Choose the best value of a path in the primary metric of the problem, and evaluate the other metrics there.

    Parameters
    ----------
    task
        "regression" or "classification".
    values
        Parameters of each fit, from the most to the least regularised.
    certificates
        Certificate of each fit, if the method has one per value.
    metrics
        Names of the metrics to evaluate besides the primary one.

    Raises
    ------
    NotSolvedError
        If no fit has finite predictions for the validation samples.
    """
    error = primary_metric(task).function
    path = choose(
        values,
        error(predicted.train, predicted.train_labels),
        error(predicted.validation, predicted.validation_labels),
        error(predicted.test, predicted.test_labels),
        certificates,
    )
    if task == "classification":
        path = with_majority(path, predicted.test, predicted.train_labels)
    return replace(path, metrics=_evaluate(metrics, predicted.test[:, [path.best]], predicted.test_labels))


def _evaluate(names: Sequence[str], predictions: Floats, labels: Floats) -> dict[str, float | None]:
    """Return metrics of one column of predictions by name, None where one is not finite."""
    if missing := [name for name in names if name not in METRICS]:
        raise LookupError(METRICS.unknown(missing[0]))
    values = {name: float(np.ravel(METRICS[name].function(predictions, labels))[0]) for name in names}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def with_majority(path: PathResult, test_predictions: Floats, labels: Floats) -> PathResult:
    """Record whether the best fit predicts only the majority class of the training labels; 0 counts as +1."""
    majority = float(labels.mean()) >= 0
    return replace(path, majority_only=bool(np.all((test_predictions[:, path.best] >= 0) == majority)))


def choose(
    values: Sequence[tuple[float, ...]],
    train_errors: Floats,
    validation_errors: Floats,
    test_errors: Floats,
    certificates: list[float] | None = None,
) -> PathResult:
    """Return the path with its best value; a fit whose error is not finite does not count."""
    usable = np.isfinite(validation_errors)
    if not usable.any():
        raise NotSolvedError("no value of the path gives predictions that are finite; change its grid in [fit]")
    return PathResult(
        values=list(values),
        train_errors=_listed(train_errors),
        validation_errors=_listed(validation_errors),
        test_errors=_listed(test_errors),
        best=int(np.argmin(np.where(usable, validation_errors, np.inf))),
        certificates=certificates,
    )


def _listed(errors: Floats) -> list[float | None]:
    return [float(error) if np.isfinite(error) else None for error in errors]
