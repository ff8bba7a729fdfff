"""Solve the quadratically constrained program of `l1-svm` by a primal-dual interior-point method.

    min  Lambda t - 2 alpha'1     such that  q_k(alpha) <= t,  0 <= alpha <= 1,  y'alpha = 0

with `q_k(alpha) = alpha'Y K_k Y alpha`. Mehrotra's predictor and corrector share one factorisation per step. The slacks
`u = t - q(alpha)` need to be exact only at the end, so that curvature does not shorten the steps. The method takes 8 to
20 steps.
"""

from dataclasses import dataclass, fields

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, Images
from kernel_pipeline.tasks.progress import report_progress

MAX_STEPS = 60
# Maximum step length, as a fraction of the distance to the boundary.
BOUNDARY_FRACTION = 0.995
# A step is halved while, owing to curvature, it increases the distance from the optimum by more than MAX_GROWTH, and
# its length is above MIN_STEP_LENGTH.
MAX_GROWTH, MIN_STEP_LENGTH = 3.0, 1e-3
# If the smallest margin is above this value, the classifier is scaled so that the margin becomes one.
MIN_SCALED_MARGIN = 0.99
# The iteration stops if the gap exceeds the best one by this factor, since rounding dominates then.
MAX_GAP_INCREASE = 1e6


@dataclass
class Point:
    """An iterate: variables, slacks and multipliers."""

    alpha: Floats
    t: float
    slack: Floats
    """Slacks of `q_k(alpha) <= t`, (p,)."""
    weights: Floats
    """Multipliers of these constraints, mu, (p,)."""
    lower: Floats
    """Multipliers of `alpha >= 0`, (n,)."""
    upper: Floats
    """Multipliers of `alpha <= 1`, (n,)."""
    nu: float
    """Multiplier of `y'alpha = 0`."""

    @property
    def intercept(self) -> float:
        """Return the intercept of the classifier, from the multiplier of the equality constraint."""
        return self.nu / 2

    @property
    def upper_slack(self) -> Floats:
        """Return the slacks of `alpha <= 1`, (n,), which are positive even after rounding."""
        return np.maximum(1.0 - self.alpha, np.finfo(float).eps)

    def moved(self, step: "Point", length: float) -> "Point":
        """Return the point after a fraction of a step."""
        names = [field.name for field in fields(self)]
        return Point(*(getattr(self, name) + length * getattr(step, name) for name in names))

    def complementarity(self) -> float:
        """Return the mean product of slacks and multipliers."""
        total = self.slack @ self.weights + self.alpha @ self.lower + self.upper_slack @ self.upper
        return float(total) / (len(self.slack) + 2 * len(self.alpha))

    def max_step_length(self, step: "Point") -> float:
        """Return the largest fraction of a step, at most 1, for which all variables stay positive."""
        pairs = (
            (self.alpha, step.alpha),
            (self.upper_slack, -step.alpha),
            (self.slack, step.slack),
            (self.weights, step.weights),
            (self.lower, step.lower),
            (self.upper, step.upper),
        )
        length = min(float(np.min(-value[change < 0] / change[change < 0], initial=np.inf)) for value, change in pairs)
        return min(1.0, BOUNDARY_FRACTION * length)


def solve_qcqp(kernels: BaseKernels, y: Floats, budget: float, goal: float) -> Point:
    """Return the first point whose relative gap is at most `goal`, or the point with the smallest gap.

    Parameters
    ----------
    y
        Labels -1 and +1, both of which occur, (n,).
    budget
        Lambda, the sum of the weights.
    goal
        Relative duality gap at which the iteration stops.
    """
    n, p = len(y), kernels.count
    alpha = np.where(y > 0, np.mean(y < 0), np.mean(y > 0))
    forms = kernels.images(y * alpha).forms
    t = 2 * float(forms.max())
    program = _Program(kernels, y, budget)
    current = program.at(Point(alpha, t, t - forms, np.full(p, budget / p), np.ones(n), np.ones(n), 0.0))
    best, best_gap = current.point, np.inf
    for number in range(1, MAX_STEPS + 1):
        gap = program.relative_gap(current)
        report_progress(f"step {number}, gap {gap:.1g}")
        if gap < best_gap:
            best, best_gap = current.point, gap
        if gap <= goal or not gap < MAX_GAP_INCREASE * best_gap:
            break
        try:
            current = _step(program, current)
        except np.linalg.LinAlgError:
            break  # rounding has made the system indefinite, so the best point cannot be improved
    return best


@dataclass(frozen=True)
class _Iterate:
    """An iterate and the images of `y * alpha`, which take most of the time outside the factorisation."""

    point: Point
    images: Images


@dataclass(frozen=True)
class _Program:
    """The problem for one value of Lambda."""

    kernels: BaseKernels
    y: Floats
    budget: float

    def at(self, point: Point) -> _Iterate:
        """Return a point with its images."""
        return _Iterate(point, self.kernels.images(self.y * point.alpha))

    def relative_gap(self, current: _Iterate) -> float:
        """Return the relative duality gap between alpha and the classifier whose weights are scaled to the budget."""
        point, forms = current.point, current.images.forms
        weights = point.weights * (self.budget / point.weights.sum())
        upper, _ = primal_value(current.images, self.y, weights, point.intercept)
        return (upper - float(2 * point.alpha.sum() - self.budget * forms.max())) / upper

    def distance(self, current: _Iterate) -> float:
        """Return a measure of the distance from the optimum: products of slacks and multipliers, and slack errors."""
        point = current.point
        residual = current.images.forms + point.slack - point.t
        return point.complementarity() + self.budget * float(np.abs(residual).max()) / len(self.y)


def primal_value(images: Images, y: Floats, weights: Floats, intercept: float) -> tuple[float, float]:
    """Return `||w||^2 + 2 sum of slacks` of the classifier or a multiple of it, whichever is smaller, and the factor.

    If all margins are one up to rounding, the sum of the slacks may exceed the rest of the value. A slightly larger
    multiple of the same classifier has no slacks.
    """
    margins = y * (images.sum(weights) + intercept)
    smallest = float(margins.min())
    factors = (1.0, 1.0 / smallest) if MIN_SCALED_MARGIN < smallest < 1.0 else (1.0,)
    square = float(weights @ images.forms)
    return min((f**2 * square + 2 * float(np.maximum(0.0, 1.0 - f * margins).sum()), f) for f in factors)


def _step(program: _Program, current: _Iterate) -> _Iterate:
    """Return the next iterate: a predictor and a corrector, which share one factorisation."""
    kernels, y, point, images = program.kernels, program.y, current.point, current.images
    upper_slack = point.upper_slack
    dual = -2 + 2 * y * images.sum(point.weights) - point.lower + point.upper + point.nu * y
    dual_t = program.budget - point.weights.sum()
    primal, equality = images.forms + point.slack - point.t, float(y @ point.alpha)
    ratio = point.weights / point.slack
    # H is the matrix of the reduced Newton system in alpha:
    # Y H Y = D + 2 K_mu + 4 sum_k ratio_k (K_k Y alpha)(K_k Y alpha)'
    solve = kernels.solver(point.lower / point.alpha + point.upper / upper_slack, 2 * point.weights, 4 * ratio, images)
    coupling = -2 * y * images.sum(ratio)
    borders = np.column_stack([coupling, y])
    solved_borders = y[:, None] * solve(y[:, None] * borders)
    corner = np.array([[ratio.sum(), 0.0], [0.0, 0.0]]) - borders.T @ solved_borders

    def newton(slack: Floats, lower: Floats, upper: Floats, residual: Floats) -> Point:
        """Return a Newton step.

        To first order, it changes the products of slacks and multipliers by the given amounts, and cancels `residual`.
        """
        e = slack / point.slack + ratio * residual
        right = -dual - 2 * y * images.sum(e) + lower / point.alpha - upper / upper_slack
        first = y * solve(y * right)
        rest = np.array([-dual_t + e.sum(), -equality]) - borders.T @ first
        t, nu = np.linalg.solve(corner, rest)
        alpha = first - solved_borders @ np.array([t, nu])
        change = t - residual - 2 * images.dot(y * alpha)
        return Point(
            alpha,
            t,
            change,
            (slack - point.weights * change) / point.slack,
            (lower - point.lower * alpha) / point.alpha,
            (upper + point.upper * alpha) / upper_slack,
            nu,
        )

    products = point.slack * point.weights, point.alpha * point.lower, upper_slack * point.upper
    predictor = newton(-products[0], -products[1], -products[2], primal)
    length = point.max_step_length(predictor)
    now = point.complementarity()
    target = now * (point.moved(predictor, length).complementarity() / now) ** 3
    corrector = newton(
        target - products[0] - predictor.slack * predictor.weights,
        target - products[1] - predictor.alpha * predictor.lower,
        target - products[2] + predictor.alpha * predictor.upper,
        primal + length**2 * kernels.images(y * predictor.alpha).forms,
    )
    length, allowed = point.max_step_length(corrector), MAX_GROWTH * program.distance(current)
    moved = program.at(point.moved(corrector, length))
    while length > MIN_STEP_LENGTH and not program.distance(moved) <= allowed:
        length /= 2
        moved = program.at(point.moved(corrector, length))
    return moved
