"""`l1-svm`: a support vector machine with weights of bounded sum (Lanckriet et al. 2004).

    min_mu max_alpha  2 alpha'1 - alpha'Y K_mu Y alpha,     mu >= 0, tr K_mu <= Lambda, 0 <= alpha <= C, alpha'y = 0

Kernels have trace one, so the trace of K_mu is the sum of the weights. Only the ratio of C and Lambda matters, so C is
1. Minimising over mu puts all weight on the largest quadratic form alpha'Y K_k Y alpha, so the problem is
max  2 alpha'1 - Lambda t  subject to  alpha'Y K_k Y alpha <= t  for all k. The multipliers of these constraints are the
weights. An interior-point method solves the problem for a working set of kernels; then the forms of all kernels are
computed, and the kernels whose form is close to the largest one in the set, or above it, join the set.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, Images
from kernel_pipeline.tasks.learners.interior_point import Point, primal_value, solve_qcqp
from kernel_pipeline.tasks.learners.learned import OneStageSolution, label_forms, relative_gap
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.progress import progress_part
from kernel_pipeline.tasks.weights.method import Grid, register

# Duality gap up to which a solution is accepted, and at which the iteration stops.
MAX_GAP, GAP = 1e-4, 5e-5
# Target gaps of the interior-point method; a larger one suffices while kernels still join the working set.
FIRST_GOAL, LAST_GOAL = 1e-2, 1e-5
# Initial size of the working set, and largest number of kernels that join it in one round.
FIRST_SET = 300
# A kernel joins the working set if its form is above this fraction of the largest one in it; a kernel whose form is
# below, and whose weight is negligible, leaves it.
MIN_RELATIVE_FORM = 0.8
# Thresholds, relative to the largest weight, below which weights are set to zero: the weights of an interior point are
# never exactly zero.
NEGLIGIBLE = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)
MAX_ROUNDS = 50


@register
@dataclass(frozen=True)
class L1Svm(OneStageMethod):
    """Support vector machine with weights of bounded sum; only the ratio of Lambda and C matters, so C is 1."""

    name: ClassVar[str] = "l1-svm"
    problems: ClassVar[tuple[str, ...]] = ("classification",)
    grids: ClassVar[tuple[Grid, ...]] = (Grid(-4, 18, description="Lambda of l1-svm, whose C is 1"),)
    max_certificate: ClassVar[float] = MAX_GAP

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        return l1_svm_path(kernels, target, values)


def l1_svm_path(kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]) -> list[OneStageSolution]:
    """Solve for every (Lambda,) of the path.

    Each solution starts with the kernels that had a positive weight or the largest forms in the previous one. The
    certificate is the relative duality gap, over all kernels, between the objective at alpha with its largest form and
    the primal value of the support vector machine with kernel `K_mu`.
    """
    balanced = np.where(target > 0, np.mean(target < 0), np.mean(target > 0))
    distinct = kernels.distinct()
    few = kernels.only(distinct.chosen)
    working = _largest(label_forms(few, target * balanced), FIRST_SET)
    learned = []
    for number, (budget,) in enumerate(values, 1):
        with progress_part(f"value {number} of {len(values)}"):
            found, working = _solve(few, target, budget, working)
        learned.append(replace(found, weights=distinct.shared(found.weights)))
    return learned


def _solve(kernels: BaseKernels, y: Floats, budget: float, working: Integers) -> tuple[OneStageSolution, Integers]:
    """Return the solution, and the working set for the next value."""
    goal = FIRST_GOAL if len(working) < kernels.count else LAST_GOAL
    for number in range(1, MAX_ROUNDS + 1):
        with progress_part(f"round {number}, working set of {len(working)}"):
            point = solve_qcqp(kernels.only(working), y, budget, goal)
        weights = np.zeros(kernels.count)
        weights[working] = point.weights * (budget / point.weights.sum())
        images = kernels.images(y * point.alpha)
        gap, last = _gap(images, y, budget, weights, point), goal == LAST_GOAL
        outside = np.setdiff1d(np.arange(kernels.count), working)
        joining = outside[images.forms[outside] > MIN_RELATIVE_FORM * images.forms[working].max()]
        if gap <= GAP or (last and not len(joining)):
            break
        if not last:  # in the last rounds, kernels that leave would join again
            small = images.forms[working] < MIN_RELATIVE_FORM * point.t
            working = working[~small | (point.weights / budget > point.slack / point.t)]
        goal = max(LAST_GOAL, min(goal, gap) / 10)
        working = np.concatenate([working, joining[_largest(images.forms[joining], FIRST_SET)]])
    weights, gap = _without_negligible(images, y, budget, weights, point, gap)
    next_set = np.union1d(np.flatnonzero(weights), _largest(images.forms, FIRST_SET))
    _, factor = primal_value(images, y, weights, point.intercept)
    return OneStageSolution(weights, factor * y * point.alpha, factor * point.intercept, gap), next_set


def _without_negligible(
    images: Images, y: Floats, budget: float, weights: Floats, point: Point, gap: float
) -> tuple[Floats, float]:
    """Set the smallest weights to zero as far as the gap allows; return the weights and their gap."""
    for threshold in NEGLIGIBLE:
        kept = np.where(weights > threshold * weights.max(), weights, 0.0)
        kept *= budget / kept.sum()
        found = _gap(images, y, budget, kept, point)
        if found <= GAP:
            return kept, found
    return weights, gap


def _gap(images: Images, y: Floats, budget: float, weights: Floats, point: Point) -> float:
    largest, total = float(images.forms.max()), float(point.alpha.sum())
    shrunk = min(1.0, total / (budget * largest))  # multiples of alpha are feasible; this is the best one
    lower = 2 * shrunk * total - budget * shrunk**2 * largest
    upper, _ = primal_value(images, y, weights, point.intercept)
    return relative_gap(upper, lower)


def _largest(values: Floats, count: int) -> Integers:
    return np.sort(np.argsort(-values, kind="stable")[:count])
