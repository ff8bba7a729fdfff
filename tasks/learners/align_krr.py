"""`align-krr`: the paper's single-stage algorithm (its equation 9).

    min_{mu >= 0}  y'(K_mu + I)^-1 y - gamma mu'a + mu'(gamma'' M + gamma' I) mu

The problem is convex and smooth in mu. It is solved by Newton's method; each step is a quadratic program over
`mu >= 0`. Labels are centered and scaled to norm one, so that the parameters have the same meaning for every dataset.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, Solver, dense_solver
from kernel_pipeline.tasks.learners.learned import OneStageSolution, label_forms
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.progress import progress_part, report_progress
from kernel_pipeline.tasks.weights.column_generation import block_pivoting
from kernel_pipeline.tasks.weights.method import Grid, register
from kernel_pipeline.tasks.weights.qp import nonnegative_qp

# KKT residual up to which a solution is accepted, and at which the iteration stops.
MAX_RESIDUAL, RESIDUAL = 1e-6, 1e-8
MAX_STEPS = 60
MIN_STEP_LENGTH = 1e-10
# Armijo's condition: the fraction of the predicted descent that a step must achieve.
DESCENT = 1e-4
# Relative increase of the objective that is attributed to rounding; the last step may decrease it by less than this.
ROUNDING = 1e-14
# Up to this number of kernels, OSQP is used, which is more reliable; above it, block pivoting, which is faster.
MAX_KERNELS_OSQP = 200


@register
@dataclass(frozen=True)
class AlignKrr(OneStageMethod):
    """Kernel ridge regression with the alignment in its objective; labels have norm one and kernels trace one."""

    name: ClassVar[str] = "align-krr"
    problems: ClassVar[tuple[str, ...]] = ("regression",)
    needs_m: ClassVar[bool] = True
    grids: ClassVar[tuple[Grid, ...]] = (
        Grid(-6, 0, 6, "weight of the alignment", "gamma"),
        Grid(-40, -20, 20, "weight of mu'mu", "gamma1"),
        Grid(-40, -8, 4, "weight of mu'M mu", "gamma2", descending=True),
    )
    preload: ClassVar[tuple[str, ...]] = ("osqp",)
    max_certificate: ClassVar[float] = MAX_RESIDUAL

    def learn_path(
        self, kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]
    ) -> list[OneStageSolution]:
        return align_krr_path(kernels, target, values)


def align_krr_path(kernels: BaseKernels, target: Floats, values: Sequence[tuple[float, ...]]) -> list[OneStageSolution]:
    """Solve for every (gamma, gamma', gamma''), each starting from the previous solution.

    The certificate is the KKT residual, relative to the largest `alpha'K_k alpha + gamma a_k`, the part of the gradient
    that increases a weight.
    """
    mean = float(target.mean())
    centered = target - mean
    forms, norm = label_forms(kernels, centered), float(np.linalg.norm(centered))
    y, a = centered / norm, forms / norm**2
    M = kernels.products()
    mu = np.zeros(kernels.count)
    learned = []
    for number, (gamma, gamma1, gamma2) in enumerate(values, 1):
        problem = _Problem(kernels, y, gamma * a, gamma2 * M + gamma1 * np.eye(len(a)))
        with progress_part(f"value {number} of {len(values)}"):
            mu, alpha, residual = _solve(problem, mu)
        learned.append(OneStageSolution(mu, norm * alpha, mean, residual))
    return learned


@dataclass(frozen=True)
class _Problem:
    """The problem for one value of (gamma, gamma', gamma'')."""

    kernels: BaseKernels
    y: Floats
    alignment_term: Floats
    """gamma a"""
    penalty: Floats
    """gamma'' M + gamma' I"""

    def at(self, mu: Floats) -> "_Iterate":
        """Evaluate the objective at the weights `mu`; the result keeps the solver, which the derivatives also need."""
        solve = dense_solver(self.kernels.combined(mu), 1.0)
        alpha = solve(self.y)
        value = float(self.y @ alpha - self.alignment_term @ mu + mu @ self.penalty @ mu)
        return _Iterate(mu, alpha, value, solve)

    def model(self, point: "_Iterate") -> tuple[Floats, Floats, float]:
        """Return the gradient and the Hessian of the objective, and the KKT residual."""
        mu, images = point.mu, self.kernels.images(point.alpha).columns()
        increase = point.alpha @ images + self.alignment_term
        gradient = 2 * self.penalty @ mu - increase
        hessian = 2 * (images.T @ point.solve(images) + self.penalty)
        violation = np.where(mu > 0, np.abs(gradient), np.maximum(-gradient, 0.0))
        return gradient, hessian, float(violation.max() / increase.max())


@dataclass(frozen=True)
class _Iterate:
    """Weights, their coefficients and objective, and a solver for `K_mu + I`."""

    mu: Floats
    alpha: Floats
    value: float
    solve: Solver


def _solve(problem: _Problem, mu: Floats) -> tuple[Floats, Floats, float]:
    """Return the weights, their coefficients alpha, and the KKT residual."""
    point = problem.at(mu)
    gradient, hessian, residual = problem.model(point)
    best = point.mu, point.alpha, residual
    for number in range(1, MAX_STEPS + 1):
        report_progress(f"step {number}, residual {residual:.1g}")
        if residual <= RESIDUAL:
            break
        linear = hessian @ point.mu - gradient
        if len(mu) <= MAX_KERNELS_OSQP:
            goal, _ = nonnegative_qp(hessian, linear)
        else:
            goal = block_pivoting(hessian, linear, point.mu > 0)
        step, length, rounding = goal - point.mu, 1.0, ROUNDING * max(1.0, abs(point.value))
        moved = problem.at(goal)  # not `mu + step`, so that zeros are exact
        while moved.value > point.value + DESCENT * length * float(gradient @ step) + rounding:
            length /= 2
            if length < MIN_STEP_LENGTH:
                return best
            moved = problem.at(point.mu + length * step)
        point = moved
        gradient, hessian, residual = problem.model(point)
        if residual < best[2]:
            best = point.mu, point.alpha, residual
    return best
