"""A regularisation path: one fit a value, the best on the validation fold, its error on the test fold."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.learners.ridge import ridge_path
from kernel_pipeline.tasks.learners.svm import svm_path
from kernel_pipeline.tasks.metrics import misclassification, rmse


@dataclass(frozen=True)
class PathResult:
    """The errors along a path, None where there is no fit.

    The best value is the most regularised of those with the least validation error.
    """

    values: list[tuple[float, ...]]
    """The parameters of each fit; most methods have one."""
    train_errors: list[float | None]
    validation_errors: list[float | None]
    test_errors: list[float | None]
    best: int
    certificates: list[float] | None = None
    """Of each fit, where a method has one per value."""
    majority_only: bool = False
    """Whether the best fit predicts the training set's majority class for every test sample (classification)."""

    @property
    def at_edge(self) -> bool:
        """Whether the best regularisation value, the last parameter, is the first or the last of several."""
        grid = {value[-1] for value in self.values}
        return len(grid) > 1 and self.values[self.best][-1] in (min(grid), max(grid))

    def in_units(self, unit: float) -> "PathResult":
        """The same path with errors of labels that are `unit` times as large; a power of two changes no digit."""

        def scaled(errors: list[float | None]) -> list[float | None]:
            return [None if error is None else unit * error for error in errors]

        return replace(
            self,
            train_errors=scaled(self.train_errors),
            validation_errors=scaled(self.validation_errors),
            test_errors=scaled(self.test_errors),
        )


METRICS = {"regression": "rmse", "classification": "misclassification"}


def fit_path(
    task: str,
    centered: Floats,
    target: Floats,
    train: Integers,
    validation: Integers,
    test: Integers,
    values: Sequence[float],
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
    """
    fit, error = (ridge_path, rmse) if task == "regression" else (svm_path, misclassification)
    measured = np.concatenate([train, validation, test])
    predictions = fit(centered[train], target[train], centered[measured], values)
    parts = np.split(predictions, [len(train), len(train) + len(validation)])
    path = choose(
        [(float(value),) for value in values],
        error(parts[0], target[train]),
        error(parts[1], target[validation]),
        error(parts[2], target[test]),
    )
    return with_majority(path, parts[2], target[train]) if task == "classification" else path


def with_majority(path: PathResult, test_predictions: Floats, labels: Floats) -> PathResult:
    """Note whether the best fit predicts the majority class of the training labels only; 0 counts as +1."""
    majority = float(labels.mean()) >= 0
    return replace(path, majority_only=bool(np.all((test_predictions[:, path.best] >= 0) == majority)))


def choose(
    values: Sequence[tuple[float, ...]],
    train_errors: Floats,
    validation_errors: Floats,
    test_errors: Floats,
    certificates: list[float] | None = None,
) -> PathResult:
    """The path with its best value; errors that are not finite are fits that are not there."""
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
