"""Define the base class of the estimators: validation of inputs, and attributes of the learned kernel."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.estimators.input_errors import explained_input
from kernel_pipeline.estimators.kernel_list import check_matrices, parse_families
from kernel_pipeline.estimators.learned_kernel import KernelData, LearnedKernel
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import GramFamily, check_families

MIN_SAMPLES = 2


class KernelEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of estimators that learn the weights of base kernels."""

    kernels: Sequence[Mapping[str, Any]] | None
    precomputed: Mapping[str, Any] | None
    kernel_: LearnedKernel

    def __sklearn_tags__(self) -> Any:
        """Return the tags of scikit-learn: a target is required."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def _prepare(self, X: Any, y: Any, **options: Any) -> tuple[tuple[GramFamily, ...], KernelData, Any]:
        """Validate training samples; return the families, the samples and the target."""
        with explained_input(X):
            X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=MIN_SAMPLES, **options)
        matrices = check_matrices(self.precomputed)
        data = self._data(X, tuple(matrices.values()))
        columns = self._columns()
        families = parse_families(self.kernels, columns, data.features, matrices)
        check_families(families, data.samples(), columns.names)
        return families, data, y

    def _new_data(self, X: Any) -> KernelData:
        """Validate new samples."""
        check_is_fitted(self)
        with explained_input(X):
            X = validate_data(self, X, dtype=np.float64, reset=False)
        data = self._data(X, self.kernel_.data.matrices)
        check_families(self.kernel_.families, data.samples(), self._columns().names)
        return data

    def _columns(self) -> FeatureColumns:
        """Return the names of the feature columns, and their indices in X."""
        names = list(getattr(self, "feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)]))
        first = 1 if self.precomputed else 0
        return FeatureColumns.of(names[first:], names[first:], range(first, len(names)))

    def _data(self, X: Floats, matrices: tuple[Floats, ...]) -> KernelData:
        """Split X into features and, if there are precomputed matrices, the rows of the samples in them."""
        if not matrices:
            return KernelData(X, np.arange(len(X)))
        numbers = X[:, 0].astype(np.int64)
        if (numbers != X[:, 0]).any() or numbers.min() < 0 or numbers.max() >= len(matrices[0]):
            wrong = X[(numbers != X[:, 0]) | (numbers < 0) | (numbers >= len(matrices[0])), 0][0]
            raise ValueError(
                "X: with precomputed matrices, the first column must hold the row of each sample in the matrices, an "
                f"integer from 0 to {len(matrices[0]) - 1}; got {wrong:g}"
            )
        return KernelData(X[:, 1:], numbers, matrices)

    def _set_attributes(self, learned: LearnedKernel) -> Self:
        """Set the attributes of the learned kernel."""
        self.kernel_ = learned
        self.weights_ = pd.Series(learned.weights, index=pd.Index(learned.names(), name="kernel"), name="weight")
        self.alignment_ = learned.alignment
        self.certificate_ = learned.certificate
        return self
