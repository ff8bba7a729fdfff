"""Fit a regularisation path, choose the best value on the validation fold, and compute its error on the test fold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.ridge import fit_ridge_path
from kernel_pipeline.tasks.learners.svm import fit_svm_path
from kernel_pipeline.tasks.learners.trial_kernel import TrialKernel
from kernel_pipeline.tasks.metrics import METRICS, chosen_metric, predicted_classes


@dataclass(frozen=True)
class PathResult:
    """Errors along a path in the chosen metric; None if a fit has no finite predictions, or its error is not defined.

    The best value is the most regularised one among those with the smallest validation error.
    """

    values: list[tuple[float, ...]]
    """Parameters of each fit, one for most methods. A method without regularisation has one fit, with ()."""
    train_errors: list[float | None]
    validation_errors: list[float | None]
    test_errors: list[float | None]
    best: int
    """Index of the best value."""
    certificates: Sequence[float | None] | None = None
    """Certificate of each fit, if the method has one per value; None for a value without a fit."""
    majority_only: bool = False
    """Whether the best fit predicts the training set's majority class for every test sample (classification)."""
    metrics: dict[str, float | None] = field(default_factory=dict)
    """Metrics of the best fit on the test fold, by name; None if not finite."""
    output_errors: list[float | None] = field(default_factory=list)
    """Error of the best fit on the test fold for each output, if a regression has several."""
    metric: str = ""
    """Name of the metric of the errors; empty for the primary metric of the problem."""
    final_errors: list[float | None] = field(default_factory=list)
    """Test error of the best value, fitted again to the training and validation samples; empty without such a fit."""
    predictions: Floats | None = field(default=None, repr=False, compare=False)
    """Predictions of the best fit for the validation samples, then the test samples, (q, columns).

    They are stored as an array, so a path that was read from the ledger has None.
    """

    @property
    def error(self) -> float | None:
        """Return the test error of the fit that is reported: the final one, or the best one of the path."""
        return self.final_errors[0] if self.final_errors else self.test_errors[self.best]

    def with_final(self, final: "PathResult", test_samples: int) -> "PathResult":
        """Return the path with the test results of a final fit of its best value.

        Parameters
        ----------
        final
            Path that consists of the final fit only.
        test_samples
            Number of test samples.
        """
        if self.predictions is None or final.predictions is None:
            raise ValueError("both paths need predictions")
        return replace(
            self,
            final_errors=[final.test_errors[final.best]],
            majority_only=final.majority_only,
            metrics=final.metrics,
            output_errors=final.output_errors,
            predictions=np.concatenate([self.predictions[:-test_samples], final.predictions[-test_samples:]]),
        )

    @property
    def regularisation(self) -> float | None:
        """Return the best regularisation value, which is the last parameter; None for a method without any."""
        return self.values[self.best][-1] if self.values[self.best] else None

    @property
    def at_edge(self) -> bool:
        """Return whether the best regularisation value is the first or the last of several."""
        grid = {value[-1] for value in self.values if value}
        return len(grid) > 1 and self.values[self.best][-1] in (min(grid), max(grid))

    def in_units(self, unit: float) -> "PathResult":
        """Return the path for labels that are `unit` times as large; for a power of two, this is exact."""
        factor = unit if not self.metric or METRICS[self.metric].in_label_units else 1.0

        def scaled(errors: list[float | None]) -> list[float | None]:
            return [None if error is None else factor * error for error in errors]

        return replace(
            self,
            train_errors=scaled(self.train_errors),
            validation_errors=scaled(self.validation_errors),
            test_errors=scaled(self.test_errors),
            output_errors=scaled(self.output_errors),
            final_errors=scaled(self.final_errors),
            metrics={
                name: value if value is None or not METRICS[name].in_label_units else unit * value
                for name, value in self.metrics.items()
            },
            predictions=None if self.predictions is None else unit * self.predictions,
        )


@dataclass(frozen=True)
class PathPredictions:
    """Predictions of all fits, (samples, columns, values), and the labels, (samples, columns), of the three sets."""

    train: Floats
    validation: Floats
    test: Floats
    train_labels: Floats
    validation_labels: Floats
    test_labels: Floats

    @classmethod
    def of(cls, fitted: Floats, held_out: Floats, split: Split) -> "PathPredictions":
        """Return the predictions of the training samples and of the held-out samples, with their labels."""
        validated, tested = np.split(held_out, [len(split.validation)])
        labels = (split.target[samples] for samples in (split.train, split.validation, split.test))
        return cls(fitted, validated, tested, *labels)


def fit_path(
    problem: str,
    kernel: TrialKernel,
    split: Split,
    options: FitOptions,
) -> PathResult:
    """Fit the whole path on the training samples and evaluate it on the validation and test sets.

    Parameters
    ----------
    problem
        "regression" (kernel ridge regression) or "classification" (support vector machine).
    kernel
        Kernel of the trial, which is overwritten.
    split
        Labels, and the samples of the trial.
    options
        Regularisation values, and options of the fits.
    """
    target = split.target[split.train]
    if problem == "regression":
        fitted = fit_ridge_path(kernel.train, target, options.values)
    else:
        fitted = fit_svm_path(kernel.train, target, options.values, options.class_weight)
    return evaluate_fits(problem, fitted, kernel.held_out(), split, options)


def evaluate_fits(
    problem: str,
    fitted: FittedPath,
    blocks: Iterable[Floats],
    split: Split,
    options: FitOptions,
) -> PathResult:
    """Evaluate the fits of a path on the validation and test sets.

    Parameters
    ----------
    blocks
        Kernel of the held-out samples against the training samples, in blocks of rows.
    """
    held_out = np.concatenate([fitted.predict(rows) for rows in blocks])
    predicted = PathPredictions.of(fitted.train, held_out, split)
    certificates = None if fitted.certificates is None else _listed(fitted.certificates)
    return measure_path(problem, options.path, predicted, certificates, options.metrics, options.metric)


def measure_path(
    problem: str,
    values: Sequence[tuple[float, ...]],
    predicted: PathPredictions,
    certificates: Sequence[float | None] | None = None,
    metrics: Sequence[str] = (),
    metric: str = "",
) -> PathResult:
    """Choose the best value of a path in one metric, and evaluate further metrics there.

    Parameters
    ----------
    problem
        "regression" or "classification".
    values
        Parameters of each fit, from the most to the least regularised.
    certificates
        Certificate of each fit, if the method has one per value.
    metrics
        Names of the metrics to evaluate at the best value.
    metric
        Name of the metric by which the best value is chosen; empty for the primary metric of the problem.

    Raises
    ------
    NotSolvedError
        If no fit has a finite error on the validation samples.
    """
    error = chosen_metric(problem, metric).error
    path = choose(
        values,
        error(predicted.train, predicted.train_labels),
        error(predicted.validation, predicted.validation_labels),
        error(predicted.test, predicted.test_labels),
        certificates,
    )
    if problem == "classification":
        path = with_majority(path, predicted.test, predicted.train_labels)
    best, labels = predicted.test[:, :, [path.best]], predicted.test_labels
    outputs = range(labels.shape[1]) if problem == "regression" and labels.shape[1] > 1 else ()
    by_output = [error(best[:, [output]], labels[:, [output]]) for output in outputs]
    return replace(
        path,
        metrics=_evaluate(metrics, best, labels),
        output_errors=_listed(np.ravel(by_output)),
        metric=metric,
        predictions=np.concatenate([predicted.validation[:, :, path.best], best[:, :, 0]]),
    )


def _evaluate(names: Sequence[str], predictions: Floats, labels: Floats) -> dict[str, float | None]:
    """Return metrics of the predictions of one fit by name; None if not finite."""
    if missing := [name for name in names if name not in METRICS]:
        raise LookupError(METRICS.unknown_message(missing[0]))
    values = {name: float(np.ravel(METRICS[name].function(predictions, labels))[0]) for name in names}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def with_majority(path: PathResult, test_predictions: Floats, labels: Floats) -> PathResult:
    """Record whether the best fit predicts only the majority class of the training labels; 0 counts as +1."""
    majority = predicted_classes(labels.mean(axis=0)[None, :, None])
    predicted = predicted_classes(test_predictions[:, :, [path.best]])
    return replace(path, majority_only=bool(np.all(predicted == majority)))


def choose(
    values: Sequence[tuple[float, ...]],
    train_errors: Floats,
    validation_errors: Floats,
    test_errors: Floats,
    certificates: Sequence[float | None] | None = None,
) -> PathResult:
    """Return the path with its best value; fits whose validation error is not finite are ignored.

    Raises
    ------
    NotSolvedError
        If no fit has a finite validation error.
    """
    usable = np.isfinite(validation_errors)
    if not usable.any():
        raise NotSolvedError("no value of the path has a finite validation error; change its grid in [fit]")
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
