"""Define reference methods, which use no base kernels: baselines for the methods that learn a kernel."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path
from kernel_pipeline.tasks.statistics.debiased import UNDEFINED, Estimates
from kernel_pipeline.tasks.weights.method import Method

Features = Floats | scipy.sparse.csr_array


@dataclass(frozen=True)
class ReferenceFit:
    """Result of a reference method: its path, and the alignments of its kernel, if it has one."""

    path: PathResult
    train_alignment: Estimates = UNDEFINED
    test_alignment: Estimates = UNDEFINED


class ReferenceMethod(Method):
    """A method that uses no base kernels."""

    gives_weights: ClassVar[bool] = False

    @abstractmethod
    def fit(self, problem: str, features: Features | None, split: Split, options: FitOptions) -> ReferenceFit:
        """Fit the method to the training samples, and evaluate the fits on the validation and test sets.

        Parameters
        ----------
        features
            Features of all samples, (m, d); None if the method does not read them.
        """


class ConstantMethod(ReferenceMethod):
    """A method that predicts the same value for all samples."""

    is_regularised: ClassVar[bool] = False

    @abstractmethod
    def prediction(self, target: Floats) -> Floats:
        """Return the prediction, (columns,), given the labels of the training samples, (n, columns)."""

    def fit(self, problem: str, features: Features | None, split: Split, options: FitOptions) -> ReferenceFit:
        found = self.prediction(split.target[split.train])[None, :, None]
        fitted, held_out = (np.repeat(found, len(samples), axis=0) for samples in (split.train, split.held_out))
        predicted = PathPredictions.of(fitted, held_out, split)
        return ReferenceFit(measure_path(problem, [()], predicted, None, options.metrics, options.metric))
