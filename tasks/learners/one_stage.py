"""One-stage methods: weights and predictor learned at once, along a path of the method's own parameters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels
from kernel_pipeline.tasks.learners.learned import Learned
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path
from kernel_pipeline.tasks.weights.method import Method

Parameters = tuple[float, ...]


class OneStageMethod(Method):
    """A method that learns weights and predictor together, for every value of its own grids."""

    max_certificate: ClassVar[float]
    """Largest certificate of a solution; values of the path that miss it do not count."""

    @abstractmethod
    def learn_path(self, kernels: BaseKernels, target: Floats, values: Sequence[Parameters]) -> list[Learned]:
        """Solve the problem of the method for every value of the path.

        Parameters
        ----------
        kernels
            The base kernels on the training samples, centered and scaled to trace one; none of them is constant.
        target
            (n,): labels of the training samples.
        values
            One number per grid of the method, from the most to the least regularised.
        """


@dataclass(frozen=True)
class OneStageResult:
    """Result of a path, and the weights of its best value, scaled to sum to one."""

    path: PathResult
    weights: Floats
    certificate: float


def learn(
    method: OneStageMethod,
    problem: str,
    kernels: BaseKernels,
    target: Floats,
    train: Integers,
    validation: Integers,
    test: Integers,
    values: Sequence[Parameters],
    metrics: Sequence[str] = (),
) -> OneStageResult:
    """Learn along the path and evaluate each value on the other two sets.

    Parameters
    ----------
    problem
        "regression" or "classification".
    kernels
        The base kernels on the samples `train`; the held-out samples are `validation`, followed by `test`.
    values
        The method's parameters, from the most to the least regularised.
    metrics
        Names of the metrics to evaluate besides the primary one.

    Raises
    ------
    NoWeightsError
        If no kernel varies on the training set and has anything to do with its labels.
    NotSolvedError
        If no value of the path has a certificate of at most `max_certificate`.
    """
    varying = np.flatnonzero(kernels.varies)
    if not len(varying):
        raise NoWeightsError
    alive = kernels.only(varying)
    with np.errstate(all="ignore"):  # a solution that overflows has no certificate
        learned = method.learn_path(alive, target[train], values)
    solved = np.array([found.certificate <= method.max_certificate for found in learned])
    if not solved.any():
        least = min(found.certificate for found in learned)
        raise NotSolvedError(
            f"{method.method_id} promises a certificate of {method.max_certificate:g}, and reached {least:.1e} at "
            f"best, on all of its path; change its grid, [fit] {method.name}"
        )
    intercepts = np.where(solved, [found.intercept for found in learned], np.nan)
    fitted = np.column_stack([alive.images(found.coefficients).sum(found.weights) for found in learned]) + intercepts
    held_out = np.column_stack([alive.predict(found.weights, found.coefficients) for found in learned]) + intercepts
    count = len(validation)
    predicted = PathPredictions(
        fitted, held_out[:count], held_out[count:], target[train], target[validation], target[test]
    )
    path = measure_path(problem, values, predicted, [found.certificate for found in learned], metrics)
    best = learned[path.best]
    weights = np.zeros(kernels.count)
    weights[varying] = best.weights / best.weights.sum()
    return OneStageResult(path, weights, best.certificate)
