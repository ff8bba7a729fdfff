"""One-stage methods: weights and predictor learned at once, along a path of the method's own parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels
from kernel_pipeline.tasks.learners.align_krr import PROMISED_RESIDUAL, align_krr_path
from kernel_pipeline.tasks.learners.l1_svm import PROMISED_GAP as PROMISED_SVM_GAP
from kernel_pipeline.tasks.learners.l1_svm import l1_svm_path
from kernel_pipeline.tasks.learners.l2_krr import PROMISED_GAP as PROMISED_KRR_GAP
from kernel_pipeline.tasks.learners.l2_krr import l2_krr_path
from kernel_pipeline.tasks.learners.learned import Learned
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path

Parameters = tuple[float, ...]
Learner = Callable[[BaseKernels, Floats, Sequence[Parameters]], list[Learned]]

# Each with the certificate that it promises.
LEARNERS: dict[str, tuple[Learner, float]] = {
    "l1-svm": (l1_svm_path, PROMISED_SVM_GAP),
    "l2-krr": (l2_krr_path, PROMISED_KRR_GAP),
    "align-krr": (align_krr_path, PROMISED_RESIDUAL),
}


@dataclass(frozen=True)
class OneStageResult:
    """A path, and the weights of its best value, scaled to sum to one."""

    path: PathResult
    weights: Floats
    certificate: float


def learn(
    method: str,
    kernels: BaseKernels,
    target: Floats,
    train: Integers,
    validation: Integers,
    test: Integers,
    values: Sequence[Parameters],
    metrics: Sequence[str] = (),
) -> OneStageResult:
    """Learn along the path and measure each value on the other two sets; what misses its certificate does not count.

    Parameters
    ----------
    kernels
        On the samples `train`; their held-out samples are `validation` and behind them `test`.
    values
        The method's parameters, from the most to the least regularised.
    metrics
        Names of the metrics to evaluate besides the primary one.

    Raises
    ------
    NoWeightsError
        If no kernel varies on the training set and has anything to do with its labels.
    NotSolvedError
        If no value of the path reached the certificate that the method promises.
    """
    varying = np.flatnonzero(kernels.varies)
    if not len(varying):
        raise NoWeightsError
    alive = kernels.only(varying)
    learner, promised = LEARNERS[method]
    with np.errstate(all="ignore"):  # what overflows has no certificate
        learned = learner(alive, target[train], values)
    solved = np.array([found.certificate <= promised for found in learned])
    if not solved.any():
        least = min(found.certificate for found in learned)
        raise NotSolvedError(
            f"{method} promises a certificate of {promised:g}, and reached {least:.1e} at best, on all of its path; "
            f"change its grid, [fit] {method}"
        )
    intercepts = np.where(solved, [found.intercept for found in learned], np.nan)
    fitted = np.column_stack([alive.images(found.coefficients).sum(found.weights) for found in learned]) + intercepts
    held_out = np.column_stack([alive.predict(found.weights, found.coefficients) for found in learned]) + intercepts
    count = len(validation)
    predicted = PathPredictions(
        fitted, held_out[:count], held_out[count:], target[train], target[validation], target[test]
    )
    problem = "classification" if method == "l1-svm" else "regression"
    path = measure_path(problem, values, predicted, [found.certificate for found in learned], metrics)
    best = learned[path.best]
    weights = np.zeros(kernels.count)
    weights[varying] = best.weights / best.weights.sum()
    return OneStageResult(path, weights, best.certificate)
