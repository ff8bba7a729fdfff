"""Evaluate fitted learners on new samples, from their features."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.data.fitted_features import Features
from kernel_pipeline.estimators.learned_kernel import KernelData, LearnedKernel
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.labels import class_names
from kernel_pipeline.tasks.learners.one_against_one import vote
from kernel_pipeline.tasks.metrics import predicted_classes

# Number of new samples that are evaluated at once.
BLOCK_ROWS = 1024


@dataclass(frozen=True)
class KernelPredictor:
    """Linear functions of the rows of a learned kernel against its training samples."""

    kernel: LearnedKernel
    coefficients: Floats
    """Coefficients, (n, functions): one function per output, or per pair of classes."""
    intercepts: Floats
    """Intercepts, (functions,)."""

    def weights(self) -> Floats:
        """Return the weights of all trace-one base kernels, (p,)."""
        return self.kernel.weights

    def evaluate(self, features: Features) -> Floats:
        """Return the values of the functions for new samples, (q, functions)."""
        parts = []
        for part in _blocks(features):
            assert isinstance(part, np.ndarray)
            rows = self.kernel.rows(KernelData(part, np.arange(len(part))))
            parts.append(rows @ self.coefficients + self.intercepts)
        return np.concatenate(parts) if parts else np.empty((0, len(self.intercepts)))


@dataclass(frozen=True)
class ColumnPredictor:
    """Linear functions of feature columns; every function of rank-one kernels has this form."""

    kernel_weights: Floats
    """Weights of all trace-one kernels, (p,)."""
    used: Integers
    """Columns whose kernels have a nonzero weight."""
    offsets: Floats
    """Numbers that are subtracted from these columns."""
    coefficients: Floats
    """Coefficients of these columns, (columns used, functions)."""
    intercepts: Floats
    """Intercepts, (functions,)."""

    def weights(self) -> Floats:
        """Return the weights of all trace-one base kernels, (p,)."""
        return self.kernel_weights

    def evaluate(self, features: Features) -> Floats:
        """Return the values of the functions for new samples, (q, functions)."""
        parts = []
        for part in _blocks(features):
            columns = part[:, self.used]
            dense = columns.toarray() if scipy.sparse.issparse(columns) else columns
            parts.append((dense - self.offsets) @ self.coefficients + self.intercepts)
        return np.concatenate(parts) if parts else np.empty((0, len(self.intercepts)))


Predictor = KernelPredictor | ColumnPredictor


@dataclass(frozen=True)
class Outputs:
    """Meaning of the functions of a predictor."""

    problem: str
    classes: tuple[tuple[str, ...], ...] = ()
    """The labels of each class, in the order of the classes; empty for a regression."""
    names: tuple[str, ...] = ()
    """Names of the outputs of a regression, if there are several."""
    unit: float = 1.0
    """Factor that converts predictions of a regression to the scale of the labels."""

    @property
    def class_names(self) -> list[str]:
        """Return the names of the classes; labels that form one class are separated by commas."""
        return class_names(self.classes)

    def values(self, functions: Floats) -> Floats:
        """Return predictions as a sweep stores them, (q, label columns).

        These are the predictions of a regression, or the decision values of two classes; for more classes, 1 in the
        column of the predicted class and 0 elsewhere. Predictions of a sample whose functions are not defined are NaN.
        """
        if self.problem == "regression":
            return self.unit * functions
        if len(self.classes) == 2:
            return functions
        found = vote(functions[:, :, None], len(self.classes))[:, :, 0]
        found[np.isnan(functions).any(axis=1)] = np.nan
        return found

    def frame(self, values: Floats) -> pd.DataFrame:
        """Return predictions as a table with one row per sample; undefined ones are empty."""
        if self.problem == "regression":
            columns = [f"prediction_{name}" for name in self.names] or ["prediction"]
            return pd.DataFrame(values, columns=columns)
        # The further name gives the column the type of text, even if no prediction is defined.
        labels = {"prediction": pd.Series([*self.labels(values), ""]).iloc[:-1]}
        if len(self.classes) == 2:
            return pd.DataFrame({**labels, "decision": values[:, 0]})
        decisions = {f"decision_{name}": values[:, place] for place, name in enumerate(self.class_names)}
        return pd.DataFrame({**labels, **decisions})

    def labels(self, values: Floats) -> list[str | None]:
        """Return the names of the predicted classes; None where predictions are not defined."""
        numbers = predicted_classes(values[:, :, None])[:, 0]
        undefined, names = np.atleast_1d(np.isnan(values).any(axis=1)), self.class_names
        return [None if empty else names[number] for number, empty in zip(numbers, undefined, strict=True)]


def _blocks(features: Features) -> Iterator[Features]:
    return (features[start : start + BLOCK_ROWS] for start in range(0, features.shape[0], BLOCK_ROWS))
