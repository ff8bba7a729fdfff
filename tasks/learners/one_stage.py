"""Learn weights and predictor together by one-stage methods, along a path of the method's own parameters."""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels
from kernel_pipeline.tasks.learners.learned import OneStageSolution
from kernel_pipeline.tasks.learners.paths import PathPredictions, PathResult, measure_path
from kernel_pipeline.tasks.weights.method import Method

Parameters = tuple[float, ...]


class OneStageMethod(Method):
    """A method that learns weights and predictor together, for every value of its own grids."""

    reads_base_kernels: ClassVar[bool] = True
    has_model: ClassVar[bool] = True
    several_labels: ClassVar[bool] = False
    supports_class_weight: ClassVar[bool] = False
    max_certificate: ClassVar[float]
    """Largest certificate of a valid solution; values of the path with a larger one are ignored."""

    @abstractmethod
    def learn_path(self, kernels: BaseKernels, target: Floats, values: Sequence[Parameters]) -> list[OneStageSolution]:
        """Solve the problem of the method for every value of the path.

        Parameters
        ----------
        kernels
            The base kernels on the training samples, centered and scaled to trace one; none of them is constant.
        target
            Labels of the training samples, (n,).
        values
            Values of the path, from the most to the least regularised; each has one number per grid of the method.
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
    split: Split,
    values: Sequence[Parameters],
    metrics: Sequence[str] = (),
    metric: str = "",
) -> OneStageResult:
    """Learn along the path and evaluate each value on the validation and test sets.

    Parameters
    ----------
    problem
        "regression" or "classification".
    kernels
        The base kernels on the training samples of the split, with `split.held_out` as held-out samples.
    values
        The method's parameters, from the most to the least regularised.
    metrics
        Names of the metrics to evaluate at the best value.
    metric
        Name of the metric by which the best value is chosen; empty for the primary one of the problem.

    Raises
    ------
    NoWeightsError
        If no kernel varies on the training set and is aligned with its labels.
    NotSolvedError
        If no value of the path has a certificate of at most `max_certificate`.
    """
    varying = np.flatnonzero(kernels.varies)
    if not len(varying):
        raise NoWeightsError
    used = kernels.only(varying)
    with np.errstate(all="ignore"):  # a solution that overflows has no certificate
        learned = method.learn_path(used, split.labels[split.train], values)
    solved = np.array([found.certificate <= method.max_certificate for found in learned])
    if not solved.any():
        smallest = min(found.certificate for found in learned)
        raise NotSolvedError(
            f"{method.method_id} found no sufficiently accurate solution: the smallest certificate (relative duality "
            f"gap or KKT residual) on its path is {smallest:.1e}, and at most {method.max_certificate:g} is allowed; "
            f"change its grid, [fit] {method.name}"
        )
    intercepts = np.where(solved, [found.intercept for found in learned], np.nan)
    fitted = np.column_stack([used.images(found.coefficients).sum(found.weights) for found in learned]) + intercepts
    held_out = np.column_stack([used.predict(found.weights, found.coefficients) for found in learned]) + intercepts
    predicted = PathPredictions.of(fitted[:, None], held_out[:, None], split)  # one column of labels
    path = measure_path(problem, values, predicted, [found.certificate for found in learned], metrics, metric)
    best = learned[path.best]
    weights = np.zeros(kernels.count)
    weights[varying] = best.weights / best.weights.sum()
    return OneStageResult(path, weights, best.certificate)
