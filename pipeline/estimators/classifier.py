"""Define the classifier: support vector machines with a learned kernel."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.estimators.base import KernelEstimator
from kernel_pipeline.estimators.kernel_list import parse_method
from kernel_pipeline.estimators.learned_kernel import learn_kernel
from kernel_pipeline.estimators.regularisation import choose_value, error_series, regularisation_values
from kernel_pipeline.estimators.targets import class_labels
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.one_against_one import count_votes
from kernel_pipeline.tasks.learners.svm import fit_pair_machines, fit_svm_path
from kernel_pipeline.tasks.metrics import predicted_classes


class AlignedKernelClassifier(ClassifierMixin, KernelEstimator):  # type: ignore[misc]
    """Support vector machine with a kernel that is learned from several base kernels, for two classes or more.

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
    C : float or list of float, default=None
        Regularisation of the support vector machine, for a kernel of trace one. If several values are given, one is
        chosen by cross-validation. None uses the default values of a sweep: 2 ** -4, 2 ** -2, ..., 2 ** 18.
    cv : int, splitter or iterable, default=5
        Inner cross-validation that chooses `C`. An integer is the number of stratified folds, shuffled with a fixed
        seed; it is reduced if a class has fewer samples.

    Attributes
    ----------
    classes_ : array
        The labels of the classes.
    weights_ : Series
        Weights of the trace-one kernels, by name.
    alignment_ : float
        Centered alignment of the combined kernel with the labels of the training samples.
    certificate_ : float
        Residual of the problem that the method solves; 0 for a closed form.
    C_ : float
        The chosen value of C.
    fit_certificate_ : float
        Largest relative duality gap of the fits of all pairs of classes.
    cv_errors_ : Series or None
        Mean error (misclassification rate) of each C over the inner folds; None if one value was given.
    kernel_ : LearnedKernel
        The learned kernel.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.compose import ColumnTransformer
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> scale = ColumnTransformer([("all", StandardScaler(), list(X.columns))], verbose_feature_names_out=False)
    >>> model = make_pipeline(scale.set_output(transform="pandas"), AlignedKernelClassifier(C=2.0**10))
    >>> bool(cross_val_score(model, X, y, cv=3).mean() > 0.9)
    True
    """

    def __init__(
        self,
        method: str | Mapping[str, Any] = "alignf",
        *,
        kernels: Sequence[Mapping[str, Any]] | None = None,
        precomputed: Mapping[str, Any] | None = None,
        C: float | Sequence[float] | None = None,
        cv: Any = 5,
    ) -> None:
        self.method = method
        self.kernels = kernels
        self.precomputed = precomputed
        self.C = C
        self.cv = cv

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights, and fit a support vector machine with the combined kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,)
            Class of each sample.

        Returns
        -------
        self
            The fitted estimator.
        """
        rule = parse_method(self.method)
        costs = regularisation_values("C", self.C, Fit().svm.values(), descending=False)
        families, data, y = self._prepare(X, y)
        self.classes_, labels = class_labels(y)
        self.C_, errors = costs[0], None
        if len(costs) > 1:
            self.C_, errors = choose_value("classification", families, data, labels, rule, fit_svm_path, costs, self.cv)
        self.cv_errors_ = error_series("C", costs, errors)
        learned, square = learn_kernel(families, data, labels, rule)
        self._machines = fit_pair_machines(square, labels, [self.C_])
        self.fit_certificate_ = float(self._machines.gaps[0])
        return self._set_attributes(learned)

    def decision_function(self, X: Any) -> Floats:
        """Return the decision values of each sample, in the form of `sklearn.svm.SVC.decision_function`.

        For more than two classes, they are the number of votes for each class, plus a number between -1/3 and 1/3 that
        increases with the sum of the decision values. If several classes have the same number of votes, `predict`
        returns the first one, while this number may favour another.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            One value per sample for two classes, otherwise one column per class.
        """
        data = self._new_data(X)
        found = self._machines.decisions(self.kernel_.rows(data))[:, :, 0]
        if len(self.classes_) == 2:
            return found[:, 0]
        votes = count_votes(found[:, :, None], len(self.classes_))[:, :, 0]
        sums = np.zeros_like(votes)
        for number, (first, second) in enumerate(combinations(range(len(self.classes_)), 2)):
            sums[:, first] += found[:, number]
            sums[:, second] -= found[:, number]
        return np.asarray(votes + sums / (3 * (np.abs(sums) + 1)))

    def predict(self, X: Any) -> Any:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples,)
            The predicted classes.
        """
        data = self._new_data(X)
        found = self._machines.predict(self.kernel_.rows(data))
        return self.classes_[predicted_classes(found)[:, 0]]
