"""One-stage methods: weights and predictor learned at once, along a path of the method's own parameters."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tasks.align_krr import align_krr_path
from tasks.arrays import Floats, Integers
from tasks.base_kernels import BaseKernels
from tasks.l1_svm import l1_svm_path
from tasks.l2_krr import l2_krr_path
from tasks.learned import Learned
from tasks.paths import PathResult, choose, misclassification, rmse
from tasks.weights import NoWeightsError

Parameters = tuple[float, ...]
Learner = Callable[[BaseKernels, Floats, Sequence[Parameters]], list[Learned]]

LEARNERS: dict[str, Learner] = {"l1-svm": l1_svm_path, "l2-krr": l2_krr_path, "align-krr": align_krr_path}


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
) -> OneStageResult:
    """Learn along the path and measure each value on the other two sets.

    Parameters
    ----------
    kernels
        On the samples `train`; their held-out samples are `validation` and behind them `test`.
    values
        The method's parameters, from the most to the least regularised.

    Raises
    ------
    NoWeightsError
        If no kernel varies on the training set and has anything to do with its labels.
    """
    varying = np.flatnonzero(kernels.varies)
    if not len(varying):
        raise NoWeightsError
    alive = kernels.only(varying)
    learned = LEARNERS[method](alive, target[train], values)
    intercepts = np.array([found.intercept for found in learned])
    fitted = np.column_stack([alive.images(found.coefficients).sum(found.weights) for found in learned]) + intercepts
    held_out = np.column_stack([alive.predict(found.weights, found.coefficients) for found in learned]) + intercepts
    error = misclassification if method == "l1-svm" else rmse
    path = choose(
        values,
        error(fitted, target[train]),
        error(held_out[: len(validation)], target[validation]),
        error(held_out[len(validation) :], target[test]),
        [found.certificate for found in learned],
    )
    best = learned[path.best]
    weights = np.zeros(kernels.count)
    weights[varying] = best.weights / best.weights.sum()
    return OneStageResult(path, weights, best.certificate)
