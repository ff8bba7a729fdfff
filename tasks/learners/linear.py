"""`linear`: a linear kernel on all features, centered and scaled to trace one on the training set."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.rank_one import CONSTANT_COLUMN_TOLERANCE, weighted_gram
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.few_columns import fit_factored_path
from kernel_pipeline.tasks.learners.fit_options import FitOptions
from kernel_pipeline.tasks.learners.paths import fit_path
from kernel_pipeline.tasks.learners.reference import Features, ReferenceFit, ReferenceMethod
from kernel_pipeline.tasks.learners.trial_kernel import ROWS, TrialKernel
from kernel_pipeline.tasks.statistics.alignment import alignment_with_labels
from kernel_pipeline.tasks.weights.method import register

# With fewer features per training sample than this, fits on the features are faster than fits on their kernel.
FEW_FEATURES = 0.25


def has_few_features(features: int, train: int) -> bool:
    """Return whether a fit uses the features themselves, so that no kernel of the training samples is formed."""
    return features < FEW_FEATURES * train


@register
@dataclass(frozen=True)
class Linear(ReferenceMethod):
    """Fit ridge regression or a linear support vector machine to all features."""

    name: ClassVar[str] = "linear"
    is_baseline: ClassVar[bool] = True
    reads_features: ClassVar[bool] = True
    version: ClassVar[int] = 2

    def fit(self, problem: str, features: Features | None, split: Split, options: FitOptions) -> ReferenceFit:
        if features is None:
            raise ValueError("the method 'linear' needs the features of all samples; got None")
        if has_few_features(features.shape[1], len(split.train)):
            return _fit_columns(problem, _scaled(_dense(features), split), split, options)
        if isinstance(features, np.ndarray):
            return _fit_kernel(problem, _dense_kernel(_scaled(features, split), split), split, options)
        return _fit_kernel(problem, _sparse_kernel(features, split), split, options)


def _dense(features: Features) -> Floats:
    return features if isinstance(features, np.ndarray) else np.asarray(features.toarray())


def _scaled(features: Floats, split: Split) -> Floats:
    """Return the features of all samples, centered on the training set; their kernel has trace one there."""
    centered = features - features[split.train].mean(axis=0)
    largest = np.abs(centered[split.train]).max(initial=0.0)
    if not largest > CONSTANT_COLUMN_TOLERANCE * np.abs(features[split.train]).max(initial=0.0):
        raise NoResultError("all features are constant on the training set")
    centered /= largest  # so that squares neither overflow nor underflow
    return np.asarray(centered / np.linalg.norm(centered[split.train]))


def _fit_columns(problem: str, columns: Floats, split: Split, options: FitOptions) -> ReferenceFit:
    """Fit a path on few features, without forming the kernel of the training samples."""
    factor = WeightedColumns(columns[split.train], columns[split.held_out], np.ones(columns.shape[1]))
    path = fit_factored_path(problem, factor.kernel(), split, options)
    test = slice(len(split.validation), None)
    return ReferenceFit(
        path, factor.alignment(split.target[split.train]), factor.alignment(split.target[split.test], test)
    )


@dataclass(frozen=True)
class _LinearKernel:
    """The kernel of a trial, and that of its test samples.

    The latter need not be centered, since `alignment_with_labels` centers it.
    """

    trial: TrialKernel
    test: Floats = field(repr=False)


def _dense_kernel(columns: Floats, split: Split) -> _LinearKernel:
    train, test = columns[split.train], columns[split.test]

    def blocks() -> Iterator[Floats]:
        for start in range(0, len(split.held_out), ROWS):
            yield columns[split.held_out[start : start + ROWS]] @ train.T

    return _LinearKernel(TrialKernel(np.ascontiguousarray(train @ train.T), blocks), test @ test.T)


def _sparse_kernel(columns: scipy.sparse.csr_array, split: Split) -> _LinearKernel:
    """Return the kernel of sparse columns, which are not centered, so that they stay sparse."""
    kernel = weighted_gram(columns, np.ones(columns.shape[1]))
    trial = TrialKernel.of(kernel, split.train, split.held_out)
    trace = float(np.trace(trial.train))
    if not trace > CONSTANT_COLUMN_TOLERANCE * float(np.trace(kernel)):
        raise NoResultError("all features are constant on the training set")
    return _LinearKernel(trial.divided(trace), kernel[np.ix_(split.test, split.test)])


def _fit_kernel(problem: str, kernel: _LinearKernel, split: Split, options: FitOptions) -> ReferenceFit:
    """Fit a path on the kernel of many features."""
    train = alignment_with_labels(kernel.trial.train, split.target[split.train])  # the fit overwrites the kernel
    test = alignment_with_labels(kernel.test, split.target[split.test])
    path = fit_path(problem, kernel.trial, split, options)
    return ReferenceFit(path, train, test)
