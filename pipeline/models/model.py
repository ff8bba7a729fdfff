"""Define the model of one dataset and method, which predicts from raw rows of the source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from kernel_pipeline.data.fitted_features import Features, FittedSteps
from kernel_pipeline.data.new_rows import NewRows, RowEncoder
from kernel_pipeline.errors import DataError
from kernel_pipeline.models.predictors import KernelPredictor, Outputs, Predictor
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, UnsuitableFeaturesError, check_families
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.text import counted

MAX_LISTED_ROWS = 10
"""Maximum number of rows in a message."""


@dataclass(frozen=True)
class ModelFacts:
    """Description of a model: its data, its method and its fit."""

    run: str
    """Name of the sweep."""
    dataset: str
    task: str
    method: str
    regularisation: float | tuple[float, ...]
    """The regularisation value; a tuple for a method with several grids."""
    trial: int | None
    """The trial whose training rows the model was fitted to; None for all rows."""
    samples: int
    kernels: tuple[str, ...]
    features: tuple[str, ...]
    certificate: float
    fit_certificate: float
    source: dict[str, Any]
    """The keys of the dataset in the config, with their values."""
    version: str
    """Version of this package."""


class FittedModel(BaseEstimator):  # type: ignore[misc]
    """A fitted model that contains the encoder, the fitted steps, the predictor and the names of the labels.

    Parameters
    ----------
    encoder
        Encoder of raw rows as features; None if the source does not support new rows.
    steps
        Imputation, scaling or weights of words, in the order in which they are applied.
    predictor
        Function of the features.
    outputs
        Meaning of its values: classes, or outputs of a regression.
    facts
        Data, method and settings of the fit.

    Attributes
    ----------
    weights_ : Series
        Weights of the trace-one base kernels, by name.
    classes_ : array of str
        Names of the classes; empty for a regression.
    """

    def __init__(
        self,
        encoder: RowEncoder | None,
        steps: tuple[FittedSteps, ...],
        predictor: Predictor,
        outputs: Outputs,
        facts: ModelFacts,
    ) -> None:
        self.encoder = encoder
        self.steps = steps
        self.predictor = predictor
        self.outputs = outputs
        self.facts = facts

    def __repr__(self) -> str:
        facts = self.facts
        return f"<{type(self).__name__} of {facts.dataset!r}, {facts.task}, {facts.method}, {facts.samples} samples>"

    def __sklearn_is_fitted__(self) -> bool:
        """Return True: a model is always fitted."""
        return True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier" if self.facts.task == "classification" else "regressor"
        return tags

    @property
    def classes_(self) -> Any:
        """Names of the classes."""
        return np.array(self.outputs.class_names, dtype=object)

    @property
    def weights_(self) -> pd.Series:
        """Weights of the trace-one base kernels, by name."""
        index = pd.Index(self.facts.kernels, name="kernel")
        return pd.Series(self.predictor.weights(), index=index, name="weight")

    def fit(self, rows: Any = None, y: Any = None) -> Self:
        """Return the model, which is fitted already, as scikit-learn's `FrozenEstimator` does."""
        return self

    def predict(self, rows: Any) -> Any:
        """Return the predictions of raw rows: numbers, or names of classes.

        Parameters
        ----------
        rows
            Rows as in the source of the config: a DataFrame with its columns, with or without those of the target; an
            array of these columns in the same order; or documents, as a list or a DataFrame with the text column.

        Returns
        -------
        array
            (q,), or (q, outputs) for several outputs. A row that the sweep would drop (`missing = "drop"`) has NaN or
            None.

        Raises
        ------
        DataError
            If the rows do not have the form of the source, or if one has no value or document and the config has
            `missing = "error"`.
        """
        return self._named(self.values(rows))

    def decision_function(self, rows: Any) -> Floats:
        """Return the decision values of raw rows, for a classification.

        Returns
        -------
        array
            (q,) for two classes. For C > 2 classes (q, C), with 1 in the column of the predicted class and 0 elsewhere.

        Raises
        ------
        AttributeError
            If the model is a regression.
        """
        if self.facts.task != "classification":
            raise AttributeError("decision_function: the model is a regression; use predict")
        values = self.values(rows)
        return values[:, 0] if values.shape[1] == 1 else values

    def table(self, rows: Any) -> pd.DataFrame:
        """Return predictions and decision values as a table with one row per given row."""
        return self.outputs.frame(self.values(rows))

    def values(self, rows: Any) -> Floats:
        """Return predictions as a sweep stores them, (q, label columns); NaN for rows that the sweep would drop."""
        return self.values_of(self.encode(rows))

    def encode(self, rows: Any) -> NewRows:
        """Return the features of raw rows before `steps`, with notes about them."""
        if self.encoder is None:
            raise DataError(
                f"the source {self.facts.source['source']!r} of the model does not support new rows; use "
                "predict_features in Python, with the columns of model.facts.features"
            )
        encoded = self.encoder.encode(rows)
        if self.facts.source.get("missing") == "error":
            _require_usable(encoded)
        return encoded

    def values_of(self, rows: NewRows) -> Floats:
        """Return predictions of encoded rows, in the form that `values` returns."""
        features: Features = rows.features[rows.usable]
        if rows.usable.any():
            for step in self.steps:
                features = step.apply(features)
            found = self._evaluate(features)
        else:  # steps and families need at least one row
            found = self.outputs.values(self.predictor.evaluate(features))
        values = np.full((len(rows.usable), found.shape[1]), np.nan)
        values[rows.usable] = found
        return values

    def predict_features(self, features: Any) -> Any:
        """Return the predictions of samples, given their features before `steps`, (q, features)."""
        width = len(self.facts.features)
        if np.ndim(features) != 2 or np.shape(features)[1] != width:
            raise DataError(
                f"features: must have {counted(width, 'column')}, those of facts.features; got shape "
                f"{np.shape(features)}"
            )
        usable = np.ones(np.shape(features)[0], dtype=bool)
        dense = isinstance(features, np.ndarray | pd.DataFrame | list)
        return self._named(self.values_of(NewRows(np.asarray(features, np.float64) if dense else features, usable)))

    def save(self, path: str | Path) -> None:
        """Write the model to a file, which `kernel_pipeline.load_model` reads; no pickle is involved."""
        from kernel_pipeline.models.model_file import save_model

        save_model(self, Path(path))

    def _named(self, values: Floats) -> Any:
        if self.facts.task == "classification":
            return np.array(self.outputs.labels(values), dtype=object)
        return values[:, 0] if values.shape[1] == 1 else values

    def _evaluate(self, features: Features) -> Floats:
        if isinstance(self.predictor, KernelPredictor) and isinstance(features, np.ndarray):
            try:
                check_families(self.predictor.kernel.families, Samples(features), self.facts.features)
            except UnsuitableFeaturesError as error:
                raise DataError(f"the kernels of the model are not defined for the new rows: {error}") from None
        return self.outputs.values(self.predictor.evaluate(features))


def _require_usable(rows: NewRows) -> None:
    """Raise a `DataError` if rows are not usable; encoders of tables have more specific errors for their cells."""
    wrong = np.flatnonzero(~rows.usable)
    if len(wrong):
        plural = "s" if len(wrong) > 1 else ""
        listed = list_first([str(row + 1) for row in wrong], MAX_LISTED_ROWS)
        raise DataError(
            f"the document is missing or blank in row{plural} {listed} of the new rows (counted from 1); this is the "
            f"case in {len(wrong):,} of {len(rows.usable):,} rows. The config with which the model was fitted has "
            "missing = 'error': write a document, or leave these rows out"
        )
