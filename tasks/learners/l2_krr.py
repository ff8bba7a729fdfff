"""`l2-krr`: kernel ridge regression with weights in an L2 ball (Cortes, Mohri and Rostamizadeh 2009).

    min_mu max_alpha  -lambda alpha'alpha - alpha'K_mu alpha + 2 alpha'y,     mu >= 0, ||mu||_2 <= Lambda

For fixed alpha the optimal weights are `mu = Lambda v / ||v||` with `v_k = alpha'K_k alpha`. The remaining problem in
alpha, `min  lambda alpha'alpha - 2 alpha'y + Lambda ||v(alpha)||`, is smooth and convex. Newton's method solves it in a
few steps; the interpolated iteration of that paper takes tens of steps. Only the ratio of lambda and Lambda matters, so
lambda is 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, Images
from kernel_pipeline.tasks.learners.learned import OneStageSolution, label_forms, relative_gap
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.progress import progress_part, report_progress
from kernel_pipeline.tasks.weights.method import Grid, register

# Duality gap up to which a solution is accepted, and at which the final steps begin.
MAX_GAP, GAP = 1e-6, 1e-7
# Number of full Newton steps at the end. The relative error of weights is about the square root of the gap, and each
# step squares it. The number is fixed, since the gap is only rounding then, and does not show when to stop.
FINAL_STEPS = 2
MAX_STEPS = 100
MIN_STEP_LENGTH = 1e-10
# Armijo's condition: the fraction of the predicted descent that a step must achieve.
DESCENT = 1e-4


@register
@dataclass(frozen=True)
class L2Krr(OneStageMethod):
    """Kernel ridge regression with weights in an L2 ball of radius Lambda; the ridge is 1."""

    name: ClassVar[str] = "l2-krr"
    version: ClassVar[int] = 2
    problems: ClassVar[tuple[str, ...]] = ("regression",)
    grids: ClassVar[tuple[Grid, ...]] = (Grid(0, 30, description="Lambda of l2-krr; its ridge is 1"),)
    max_certificate: ClassVar[float] = MAX_GAP

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        return l2_krr_path(kernels, target, values)


def l2_krr_path(kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]) -> list[OneStageSolution]:
    """Solve for every (Lambda,), each starting from the previous solution.

    The certificate is the relative duality gap between the value at alpha, with the optimal weights for it, and the
    value of `mu`, bounded from above by `||y - K_mu alpha||^2 + alpha'K_mu alpha`.
    """
    mean = float(target.mean())
    y = target - mean
    label_forms(kernels, y)  # raises if the labels are orthogonal to all kernels
    alpha = y.copy()
    learned = []
    for number, (budget,) in enumerate(values, 1):
        with progress_part(f"value {number} of {len(values)}"):
            alpha, weights, gap = _solve(kernels, y, budget, alpha)
        learned.append(OneStageSolution(weights, alpha, mean, gap))
    return learned


def _solve(kernels: BaseKernels, y: Floats, budget: float, alpha: Floats) -> tuple[Floats, Floats, float]:
    best, final_steps = (alpha, np.zeros(kernels.count), np.inf), 0
    for number in range(1, MAX_STEPS + 1):
        images = kernels.images(alpha)
        norm = float(np.linalg.norm(images.forms))
        weights = budget * images.forms / norm
        image = images.sum(weights)
        gap = _gap(images, y, budget, weights, alpha)
        report_progress(f"step {number}, gap {gap:.1g}")
        is_better = gap <= GAP or gap < best[2]
        if is_better:
            best = alpha, weights, gap
        if final_steps and (final_steps == FINAL_STEPS or not is_better):
            break
        final_steps += gap <= GAP
        # Half the Hessian is  I + K_mu + (2 Lambda/||v||) sum_k (K_k alpha)(K_k alpha)' - c image image'.
        solve = kernels.solver(1.0, weights, np.full(kernels.count, 2 * budget / norm), images)
        gradient = alpha + image - y
        solved = solve(np.column_stack([-gradient, image]))
        c = 2.0 / (budget * norm)
        step = solved[:, 0] + solved[:, 1] * (c * (image @ solved[:, 0]) / (1.0 - c * (image @ solved[:, 1])))
        length = 1.0 if final_steps else _line_search(kernels, y, budget, alpha, step, float(gradient @ step))
        if length == 0.0:
            break
        alpha = alpha + length * step
    return _refitted(kernels, y, budget, best)


def _refitted(
    kernels: BaseKernels, y: Floats, budget: float, found: tuple[Floats, Floats, float]
) -> tuple[Floats, Floats, float]:
    """Return the same weights with the optimal alpha for them, unless that increases the gap above `GAP`.

    The predictions are then those of a ridge regression with the learned kernel. If weights are so large that Newton's
    method stops early because of rounding, this also reduces the gap: the value depends strongly on alpha, but hardly
    on the weights.
    """
    alpha, weights, gap = found
    images = kernels.images(alpha)
    alpha = kernels.solver(1.0, weights, np.zeros(kernels.count), images)(y)
    refitted = _gap(kernels.images(alpha), y, budget, weights, alpha)
    return (alpha, weights, refitted) if refitted <= max(gap, GAP) else found


def _gap(images: Images, y: Floats, budget: float, weights: Floats, alpha: Floats) -> float:
    image = images.sum(weights)
    lower = float(2 * alpha @ y - alpha @ alpha) - budget * float(np.linalg.norm(images.forms))
    upper = float((y - image) @ (y - image) + alpha @ image)
    return relative_gap(upper, lower)


def _line_search(kernels: BaseKernels, y: Floats, budget: float, alpha: Floats, step: Floats, slope: float) -> float:
    """Return the first of 1, 1/2, 1/4, ... that lowers the objective enough; 0 if rounding hides any descent."""

    def objective(point: Floats) -> float:
        return float(point @ point - 2 * point @ y) + budget * float(np.linalg.norm(kernels.images(point).forms))

    start, length = objective(alpha), 1.0
    while objective(alpha + length * step) > start + DESCENT * length * 2 * slope:
        length /= 2
        if length < MIN_STEP_LENGTH:
            return 0.0
    return length
