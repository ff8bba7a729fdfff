"""Choose a regularisation value by inner cross-validation."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from kernel_pipeline.estimators.learned_kernel import KernelData, learn_kernel
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.metrics import primary_metric
from kernel_pipeline.tasks.weights.method import WeightRule

FitPath = Callable[[Floats, Floats, Sequence[float]], FittedPath]
"""`fit(square, labels, values)` fits a path; it may overwrite `square`."""


def regularisation_values(name: str, given: Any, default: Sequence[float], descending: bool) -> list[float]:
    """Return the values to choose from, from the most to the least regularised.

    >>> regularisation_values("C", [10, 1], [1.0], descending=False)
    [1.0, 10.0]
    """
    try:
        values = np.atleast_1d(np.asarray(default if given is None else given, dtype=np.float64))
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or not len(values) or not (np.isfinite(values) & (values > 0)).all():
        raise ValueError(f"{name}: must be a positive number, a list of positive numbers, or None; got {given!r}")
    return sorted(values.tolist(), reverse=descending)


def choose_value(
    problem: str,
    families: tuple[GramFamily, ...],
    data: KernelData,
    labels: Floats,
    rule: WeightRule,
    fit: FitPath,
    values: Sequence[float],
    cv: Any,
) -> tuple[float, Floats]:
    """Choose a value by cross-validation; the weights are learned separately on each training set.

    Returns
    -------
    value, errors
        The most regularised value among those with the smallest error; and the mean error of each value over the
        folds, NaN if it has no certified fit on one of them.
    """
    error = primary_metric(problem).error
    errors = []
    for train, test in _splits(problem, labels, cv):
        learned, square = learn_kernel(families, data.only(train), labels[train], rule)
        fitted = fit(square, labels[train], values)
        errors.append(error(fitted.predict(learned.rows(data.only(test))), labels[test]))
    means = np.mean(errors, axis=0)
    if np.isnan(means).all():
        raise NotSolvedError("no regularisation value has certified fits on all inner folds; choose other values")
    return values[int(np.argmin(np.where(np.isnan(means), np.inf, means)))], means


def _splits(problem: str, labels: Floats, cv: Any) -> list[tuple[Any, Any]]:
    """Return the training and test samples of each inner fold; an integer `cv` is reduced for few samples."""
    classes = labels.argmax(axis=1) if labels.shape[1] > 1 else labels[:, 0]
    y = labels if problem == "regression" else classes
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        smallest = len(labels) if problem == "regression" else int(np.unique(classes, return_counts=True)[1].min())
        folds = min(int(cv), smallest)
        if folds < 2:
            reason = f"must be at least 2; got {cv}" if cv < 2 else "a class has only one sample"
            raise ValueError(f"cv: {reason}. Set one regularisation value to fit without cross-validation")
        # Shuffled, with a fixed seed: samples are often sorted by their labels.
        kind = KFold if problem == "regression" else StratifiedKFold
        cv = kind(folds, shuffle=True, random_state=0)
    splitter = check_cv(cv, classes, classifier=problem == "classification")
    return list(splitter.split(np.empty((len(labels), 0)), y))


def error_series(name: str, values: Sequence[float], errors: Floats | None) -> pd.Series | None:
    """Return the errors of cross-validation as a Series, indexed by regularisation value; None if there are none."""
    return None if errors is None else pd.Series(errors, index=pd.Index(values, name=name), name="error")
