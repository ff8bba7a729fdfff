"""Fit a method with one regularisation value, as a sweep does, and return a function of new samples.

A kind of method that has models registers its fits with `fit_gram` and `fit_columns`.
"""

from dataclasses import dataclass, replace
from functools import singledispatch

import numpy as np
import scipy.sparse

from kernel_pipeline.estimators.learned_kernel import KernelData, LearnedKernel, learn_kernel
from kernel_pipeline.models.predictors import ColumnPredictor, KernelPredictor, Predictor
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.centering import center_square, positive_eigenvectors
from kernel_pipeline.tasks.errors import NotSolvedError
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels, weighted_gram
from kernel_pipeline.tasks.labels import center_labels
from kernel_pipeline.tasks.learners.column_ridge import fit_column_ridge
from kernel_pipeline.tasks.learners.factored import WeightedColumns
from kernel_pipeline.tasks.learners.few_columns import fit_column_machines
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL
from kernel_pipeline.tasks.learners.ridge import ridge_coefficients
from kernel_pipeline.tasks.learners.svm import fit_pair_machines
from kernel_pipeline.tasks.learners.svm_certificate import MAX_GAP
from kernel_pipeline.tasks.weights.method import Method, WeightRule
from kernel_pipeline.tasks.weights.rank_one_statistics import RankOneStatistics

Functions = tuple[Floats, Floats, float]
"""Coefficients, (n or p, functions), intercepts, (functions,), and the certificate of a fit."""


@dataclass(frozen=True)
class FitSettings:
    """Method, regularisation value and other settings of a fit."""

    problem: str
    method: Method
    value: tuple[float, ...]
    """The regularisation value, one number for each grid of the method."""
    path: tuple[tuple[float, ...], ...]
    """The values of the sweep, which are fitted together, so that the same algorithm is used; or `value` alone."""
    class_weight: str | None = None

    @property
    def numbers(self) -> list[float]:
        """Return the values of a path with one grid."""
        return [number for (number,) in self.path]

    @property
    def index(self) -> int:
        """Return the index of the value in the path."""
        return self.path.index(self.value)


@dataclass(frozen=True)
class FittedPredictor:
    """A fitted predictor, and the certificates of its weights and of its fit."""

    predictor: Predictor
    certificate: float
    fit_certificate: float


@singledispatch
def fit_gram(
    method: Method, families: tuple[GramFamily, ...], features: Floats, labels: Floats, fit: FitSettings
) -> FittedPredictor:
    """Learn the weights of the kernels of Gram families, and fit a predictor with the combined kernel.

    Parameters
    ----------
    method
        The method of `fit`, whose type selects the implementation.
    families
        The families, with all their parameters fixed.
    labels
        Labels of the samples as in a sweep, divided by their unit, (n, columns).
    """
    raise NotImplementedError(f"methods like {method.name!r} have no models")


@fit_gram.register
def _(
    method: WeightRule, families: tuple[GramFamily, ...], features: Floats, labels: Floats, fit: FitSettings
) -> FittedPredictor:
    learned, square = learn_kernel(families, KernelData(features, np.arange(len(features))), labels, method)
    coefficients, intercepts, certificate = _fit_square(square, labels, fit)
    predictor = KernelPredictor(*_without_projection(learned, coefficients), intercepts)
    return FittedPredictor(predictor, learned.certificate, certificate)


def _without_projection(learned: LearnedKernel, coefficients: Floats) -> tuple[LearnedKernel, Floats]:
    """Apply the projection of a kernel with negative weights to the coefficients instead of the rows."""
    if learned.positive is None:
        return learned, coefficients
    return replace(learned, positive=None), learned.positive @ (learned.positive.T @ coefficients)


@singledispatch
def fit_columns(
    method: Method,
    columns: scipy.sparse.csr_array,
    offset: Floats,
    labels: Floats,
    fit: FitSettings,
    few_columns: bool,
) -> FittedPredictor:
    """Learn the weights of the rank-one kernels of feature columns, and fit a predictor with the combined kernel.

    Parameters
    ----------
    method
        The method of `fit`, whose type selects the implementation.
    columns, offset
        Columns of the samples, (n, p), and the constant that was subtracted from each column, (p,).
    labels
        As for `fit_gram`.
    few_columns
        Whether there are fewer columns than samples in a trial of the sweep, which then forms no kernel matrix.
    """
    raise NotImplementedError(f"methods like {method.name!r} have no models")


@fit_columns.register
def _(
    method: WeightRule,
    columns: scipy.sparse.csr_array,
    offset: Floats,
    labels: Floats,
    fit: FitSettings,
    few_columns: bool,
) -> FittedPredictor:
    kernels = RankOneKernels.of(columns)
    weights, certificate = method.weights(RankOneStatistics(kernels, center_labels(labels)))
    fit_weighted = _fit_factors if few_columns else _fit_combined
    column_coefficients, intercepts, fit_certificate = fit_weighted(kernels, weights, labels, fit)
    predictor = column_predictor(kernels, offset, weights, column_coefficients, intercepts)
    return FittedPredictor(predictor, certificate, fit_certificate)


def column_predictor(
    kernels: RankOneKernels, offset: Floats, weights: Floats, coefficients: Floats, intercepts: Floats
) -> ColumnPredictor:
    """Return a predictor, given coefficients of the centered and scaled columns, (p, functions)."""
    used = np.flatnonzero(weights)
    scale = np.sqrt(kernels.trace[used])
    # Columns are centered with the means of the training samples, which are stored for the scaled columns.
    offsets = offset[used] + kernels.means[used] * scale
    return ColumnPredictor(weights, used, offsets, coefficients[used] / scale[:, None], intercepts)


def _fit_factors(kernels: RankOneKernels, weights: Floats, labels: Floats, fit: FitSettings) -> Functions:
    """Fit a predictor to few columns without a kernel matrix.

    The coefficients are those of the centered and scaled columns, (p, functions).
    """
    weighted = WeightedColumns.of(kernels, weights)
    # With unit vectors as held-out samples, the held-out rows of the factors are the transformation of the columns.
    factors = replace(weighted, held_out=np.eye(weighted.train.shape[1])).kernel()
    if fit.problem == "regression":
        found, certificates = fit_column_ridge(factors.train, labels, fit.numbers)
        intercepts = np.repeat(labels.mean(axis=0)[:, None], len(fit.path), axis=1)
        limit = MAX_RESIDUAL
    else:
        found, intercepts, gaps = fit_column_machines(factors.train, labels, fit.numbers, fit.class_weight)
        certificates, limit = gaps.tolist(), MAX_GAP
    index = fit.index
    _check(certificates[index], limit)
    coefficients = np.zeros((kernels.count, found.shape[1]))
    used = np.flatnonzero(weights)
    coefficients[used] = np.sqrt(np.abs(weights[used]))[:, None] * (factors.held_out @ found[:, :, index])
    return coefficients, intercepts[:, index], certificates[index]


def _fit_combined(kernels: RankOneKernels, weights: Floats, labels: Floats, fit: FitSettings) -> Functions:
    """Fit a predictor with the combined kernel of many columns.

    The coefficients are those of the centered and scaled columns, (p, functions).
    """
    square = weighted_gram(kernels.columns, weights)
    center_square(square)
    positive = positive_eigenvectors(square) if (weights < 0).any() else None
    if positive is not None:
        square = (square @ positive) @ positive.T
    coefficients, intercepts, certificate = _fit_square(square, labels, fit)
    if positive is not None:
        coefficients = positive @ (positive.T @ coefficients)
    projected = np.column_stack([kernels.projections(column) for column in np.ascontiguousarray(coefficients.T)])
    return weights[:, None] * projected, intercepts, certificate


def _fit_square(square: Floats, labels: Floats, fit: FitSettings) -> Functions:
    """Fit a predictor with a centered kernel, which is overwritten; return coefficients of the samples."""
    if fit.problem == "regression":
        found, residuals = ridge_coefficients(square, labels, fit.numbers)
        index = fit.index
        _check(float(residuals[index]), MAX_RESIDUAL)
        return found[:, :, index], labels.mean(axis=0), float(residuals[index])
    machines = fit_pair_machines(square, labels, fit.value, fit.class_weight)
    return machines.coefficients[:, :, 0], machines.intercepts[:, 0], float(machines.gaps[0])


def _check(certificate: float, limit: float) -> None:
    if not certificate <= limit:
        raise NotSolvedError(
            f"the certificate of the fit is {certificate:.1e}, and at most {limit:g} is allowed; choose another "
            "regularisation value"
        )
