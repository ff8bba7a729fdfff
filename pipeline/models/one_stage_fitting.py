"""Fit a one-stage method, which learns weights and predictor together, as a sweep does."""

from collections.abc import Sequence

import numpy as np
import scipy.sparse

from kernel_pipeline.estimators.learned_kernel import KernelData, LearnedKernel, kernel_statistics
from kernel_pipeline.models.fitting import FitSettings, FittedPredictor, column_predictor, fit_columns, fit_gram
from kernel_pipeline.models.predictors import KernelPredictor
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.centering import center_square
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, GramKernels
from kernel_pipeline.tasks.kernels.family import GramFamily, prepare_families
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod, Parameters
from kernel_pipeline.tasks.statistics.statistics import alignment
from kernel_pipeline.tasks.statistics.sums import compute_tile


@fit_gram.register
def _(
    method: OneStageMethod, families: tuple[GramFamily, ...], features: Floats, labels: Floats, fit: FitSettings
) -> FittedPredictor:
    # All kernels are held in memory, (p, n, n).
    n, data = len(features), KernelData(features, np.arange(len(features)))
    statistics = kernel_statistics(families, data, labels)
    whole, gram = slice(0, n), np.empty((len(statistics.trace), n, n))
    compute_tile(prepare_families(families, data.samples()), np.array([0, n]), (whole, whole), gram)
    kernels = GramKernels.of(gram, statistics.trace, np.arange(n), np.arange(0))
    weights, learned = _learn(kernels, labels, method, fit.value, fit.path)
    factors = np.divide(weights, statistics.trace, out=np.zeros_like(weights), where=statistics.trace > 0)
    offsets = center_square(np.tensordot(factors, gram, 1))
    shares = weights / weights.sum()
    aligned = alignment(statistics.scaled(statistics.trace), shares)
    kernel = LearnedKernel(families, data, shares, learned.certificate, aligned, factors, offsets)
    predictor = KernelPredictor(kernel, learned.coefficients[:, None], np.array([learned.intercept]))
    return FittedPredictor(predictor, learned.certificate, learned.certificate)


@fit_columns.register
def _(
    method: OneStageMethod,
    columns: scipy.sparse.csr_array,
    offset: Floats,
    labels: Floats,
    fit: FitSettings,
    few_columns: bool,
) -> FittedPredictor:
    kernels = RankOneKernels.of(columns)
    weights, learned = _learn(kernels, labels, method, fit.value, fit.path)
    column_coefficients = weights * kernels.projections(learned.coefficients)
    intercepts = np.array([learned.intercept])
    shares = weights / weights.sum()
    predictor = column_predictor(kernels, offset, shares, column_coefficients[:, None], intercepts)
    return FittedPredictor(predictor, learned.certificate, learned.certificate)


def _learn(
    kernels: BaseKernels, labels: Floats, method: OneStageMethod, value: Parameters, path: Sequence[Parameters]
) -> tuple[Floats, OneStageSolution]:
    """Learn along the path up to a value; return the weights of all kernels and the solution for this value.

    Each solution starts from the previous one, so that the result is that of a sweep.
    """
    varying = np.flatnonzero(kernels.varies)
    if not len(varying):
        raise NoWeightsError
    upto = list(path[: path.index(value) + 1])
    with np.errstate(all="ignore"):  # a solution that overflows has no certificate
        learned = method.learn_path(kernels.only(varying), np.ascontiguousarray(labels[:, 0]), upto)[-1]
    if not learned.certificate <= method.max_certificate:
        raise NotSolvedError(
            f"{method.method_id} found no sufficiently accurate solution for {value}: its certificate (relative "
            f"duality gap or KKT residual) is {learned.certificate:.1e}, and at most {method.max_certificate:g} is "
            "allowed; choose another regularisation value"
        )
    weights = np.zeros(kernels.count)
    weights[varying] = learned.weights
    return weights, learned
