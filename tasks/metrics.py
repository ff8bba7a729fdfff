"""Metrics of predictions."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats


def misclassification(predictions: Floats, labels: Floats) -> Floats:
    """The share of wrong signs, a column of predictions at a time; 0 counts as +1, NaN has no sign."""
    wrong = np.mean(np.where(predictions >= 0, 1.0, -1.0) != labels[:, None], axis=0)
    return np.where(np.isnan(predictions).any(axis=0), np.nan, wrong)


def rmse(predictions: Floats, labels: Floats) -> Floats:
    """Root of the mean squared error, a column of predictions at a time."""
    return np.asarray(np.sqrt(np.mean((predictions - labels[:, None]) ** 2, axis=0)))
