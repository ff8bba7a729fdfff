"""Define the regressor: kernel ridge regression with a learned kernel."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.estimators.base import KernelEstimator
from kernel_pipeline.estimators.kernel_list import parse_method
from kernel_pipeline.estimators.learned_kernel import learn_kernel
from kernel_pipeline.estimators.regularisation import choose_value, error_series, regularisation_values
from kernel_pipeline.estimators.targets import numeric_labels
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.labels import label_units
from kernel_pipeline.tasks.learners.ridge import fit_ridge_path


class AlignedKernelRegressor(RegressorMixin, KernelEstimator):  # type: ignore[misc]
    """Kernel ridge regression with a kernel that is learned from several base kernels, for one output or several.

    Parameters
    ----------
    method : str or dict, default="alignf"
        Method that determines the weights, by name or as a table of a config, such as `{"method": "align", "q": 2.0}`.
    kernels : list of dict, default=None
        Families of base kernels, as in a config: `[{"family": "gaussian", "log2_gamma": [-5, 1]}]`. The key `columns`
        restricts a family to columns, by name or number. By default, seven Gaussian kernels whose gammas are powers of
        two around that of the median heuristic.
    precomputed : dict of str to array, default=None
        Additional kernels: matrices over all samples, by name. The first column of X must then hold the row of each
        sample in the matrices; the other columns, if there are any, are features.
    alpha : float or list of float, default=None
        Ridge (regularisation strength), for a kernel of trace one. If several values are given, one is chosen by
        cross-validation. None uses the default values of a sweep: 2 ** -30, 2 ** -28, ..., 1.
    cv : int, splitter or iterable, default=5
        Inner cross-validation that chooses `alpha`. An integer is the number of folds, shuffled with a fixed seed; it
        is reduced if there are fewer samples.

    Attributes
    ----------
    weights_ : Series
        Weights of the trace-one kernels, by name.
    alignment_ : float
        Centered alignment of the combined kernel with the targets of the training samples.
    certificate_ : float
        Residual of the problem that the method solves; 0 for a closed form.
    alpha_ : float
        The chosen value of alpha.
    fit_certificate_ : float
        Relative residual of the fit.
    cv_errors_ : Series or None
        Mean error (RMSE) of each alpha over the inner folds; None if one value was given.
    kernel_ : LearnedKernel
        The learned kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.model_selection import GridSearchCV
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> blood = {"family": "gaussian", "gamma": "median", "columns": ["s[1-6]"], "name": "blood"}
    >>> body = {"family": "gaussian", "gamma": "median", "columns": ["age", "sex", "bmi", "bp"], "name": "body"}
    >>> model = AlignedKernelRegressor(kernels=[blood, body], alpha=2.0**-9)
    >>> search = GridSearchCV(model, {"method": ["unif", "alignf"]}).fit(X[:200], y[:200])
    >>> search.best_estimator_.weights_.index.tolist()
    ['blood:gaussian(median)', 'body:gaussian(median)']
    """

    def __init__(
        self,
        method: str | Mapping[str, Any] = "alignf",
        *,
        kernels: Sequence[Mapping[str, Any]] | None = None,
        precomputed: Mapping[str, Any] | None = None,
        alpha: float | Sequence[float] | None = None,
        cv: Any = 5,
    ) -> None:
        self.method = method
        self.kernels = kernels
        self.precomputed = precomputed
        self.alpha = alpha
        self.cv = cv

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's tags."""
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights, and fit a ridge regression with the combined kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target of each sample.

        Returns
        -------
        self
            The fitted estimator.
        """
        rule = parse_method(self.method)
        ridges = regularisation_values("alpha", self.alpha, Fit().krr.values(), descending=True)
        families, data, y = self._prepare(X, y, multi_output=True, y_numeric=True)
        labels = numeric_labels(y)
        self._unit = float(label_units(labels).max())
        labels = labels / self._unit
        self.alpha_, errors = ridges[0], None
        if len(ridges) > 1:
            chosen = choose_value("regression", families, data, labels, rule, fit_ridge_path, ridges, self.cv)
            self.alpha_, errors = chosen[0], chosen[1] * self._unit
        self.cv_errors_ = error_series("alpha", ridges, errors)
        learned, square = learn_kernel(families, data, labels, rule)
        fitted = fit_ridge_path(square, labels, [self.alpha_])
        self._set_attributes(learned)
        self.fit_certificate_ = float(np.asarray(fitted.certificates)[0])
        self._fitted, self._single = fitted, np.ndim(y) == 1
        return self

    def predict(self, X: Any) -> Floats:
        """Predict the target of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            The predictions, in the shape of the training target.
        """
        data = self._new_data(X)
        found = self._fitted.predict(self.kernel_.rows(data))[:, :, 0] * self._unit
        return found[:, 0] if self._single else found
