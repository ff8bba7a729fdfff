"""Define the transformer from features to the combined kernel."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from kernel_pipeline.estimators.base import KernelEstimator
from kernel_pipeline.estimators.kernel_list import parse_method
from kernel_pipeline.estimators.learned_kernel import learn_kernel
from kernel_pipeline.estimators.targets import labels_of_task
from kernel_pipeline.tasks.arrays import Floats


class KernelCombiner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Learn a combination of base kernels, and transform samples to rows of the combined kernel.

    A row has one value for each training sample. The rows are centered with the means of the training samples, for
    training samples and for new ones alike, so that the next step of a pipeline can be any estimator with
    `kernel="precomputed"`.

    The kernel of the training samples has trace one, so the next step needs a large `C`, or a small `alpha`: choose it,
    for example with `GridSearchCV`. `KernelRidge` has no intercept, so the target must be centered for it:
    `TransformedTargetRegressor(pipeline, transformer=StandardScaler())`.

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
    task : {"auto", "classification", "regression"}, default="auto"
        Meaning of the target. With "auto", text and whole numbers (also as floats, such as 1.0) in one column are
        classes.

    Attributes
    ----------
    weights_ : Series
        Weights of the trace-one kernels, by name.
    alignment_ : float
        Centered alignment of the combined kernel with the labels of the training samples.
    certificate_ : float
        Residual of the problem that the method solves; 0 for a closed form.
    kernel_ : LearnedKernel
        The learned kernel.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> X, y = load_iris(return_X_y=True)
    >>> model = make_pipeline(KernelCombiner(), SVC(kernel="precomputed", C=1000))
    >>> bool(cross_val_score(model, X, y).mean() > 0.9)
    True
    """

    def __init__(
        self,
        method: str | Mapping[str, Any] = "alignf",
        *,
        kernels: Sequence[Mapping[str, Any]] | None = None,
        precomputed: Mapping[str, Any] | None = None,
        task: str = "auto",
    ) -> None:
        self.method = method
        self.kernels = kernels
        self.precomputed = precomputed
        self.task = task

    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights.

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
        self.fit_transform(X, y)
        return self

    def fit_transform(self, X: Any, y: Any) -> Floats:
        """Learn the weights, and return the centered kernel of the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training samples.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Target of each sample.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            The centered combined kernel.
        """
        rule = parse_method(self.method)
        families, data, y = self._prepare(X, y, multi_output=True)
        learned, square = learn_kernel(families, data, labels_of_task(y, self.task), rule)
        self._set_attributes(learned)
        return square

    def transform(self, X: Any) -> Floats:
        """Return the centered kernel of samples against the training samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            New samples.

        Returns
        -------
        ndarray of shape (n_samples, n_training_samples)
            One row per sample.
        """
        data = self._new_data(X)
        return self.kernel_.rows(data)

    @property
    def _n_features_out(self) -> int:
        return len(self.kernel_.data)
