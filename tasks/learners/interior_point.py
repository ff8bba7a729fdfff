"""A primal-dual interior-point method for the quadratically constrained program of `l1-svm`.

    min  Lambda t - 2 alpha'1     such that  q_k(alpha) <= t,  0 <= alpha <= 1,  y'alpha = 0

with `q_k(alpha) = alpha'Y K_k Y alpha`. Mehrotra's predictor and corrector share one factorisation per step.
Slacks `u = t - q(alpha)` need not be exact until the end, so that no step is cut short by curvature. It takes 8 to 20
steps.
"""

from dataclasses import dataclass, fields

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, Images

STEPS = 60
# Fraction of the way to the border that a step may take.
TO_THE_BORDER = 0.995
# A step is shortened if it increases the distance from the optimum by more than this factor, owing to curvature.
GROWTH, LEAST_STEP = 3.0, 1e-3
# Smallest margins above this count as one.
ALMOST_ONE = 0.99
# A gap this many times the best one means that rounding dominates.
LOST = 1e6


@dataclass
class Point:
    """An iterate: variables, slacks and multipliers."""

    alpha: Floats
    t: float
    slack: Floats
    """(p,): slacks of `q_k(alpha) <= t`."""
    weights: Floats
    """(p,): multipliers of these constraints, mu."""
    lower: Floats
    """(n,): multipliers of `alpha >= 0`."""
    upper: Floats
    """(n,): multipliers of `alpha <= 1`."""
    nu: float
    """Multiplier of `y'alpha = 0`."""

    @property
    def intercept(self) -> float:
        """Intercept of the machine, from the multiplier of the equality."""
        return self.nu / 2

    @property
    def room(self) -> Floats:
        """(n,): slacks of `alpha <= 1`, never rounded to zero."""
        return np.maximum(1.0 - self.alpha, np.finfo(float).eps)

    def moved(self, step: "Point", length: float) -> "Point":
        """Return the point after a fraction of a step."""
        names = [field.name for field in fields(self)]
        return Point(*(getattr(self, name) + length * getattr(step, name) for name in names))

    def complementarity(self) -> float:
        """Return the mean product of slacks and multipliers."""
        total = self.slack @ self.weights + self.alpha @ self.lower + self.room @ self.upper
        return float(total) / (len(self.slack) + 2 * len(self.alpha))

    def reach(self, step: "Point") -> float:
        """Return the largest fraction of a step, at most 1, that keeps everything positive."""
        pairs = (
            (self.alpha, step.alpha),
            (self.room, -step.alpha),
            (self.slack, step.slack),
            (self.weights, step.weights),
            (self.lower, step.lower),
            (self.upper, step.upper),
        )
        least = min(float(np.min(-value[change < 0] / change[change < 0], initial=np.inf)) for value, change in pairs)
        return min(1.0, TO_THE_BORDER * least)


def solve_qcqp(kernels: BaseKernels, y: Floats, budget: float, goal: float) -> Point:
    """Return the first point whose relative gap is at most `goal`, else the point with the smallest gap."""
    n, p = len(y), kernels.count
    alpha = np.where(y > 0, np.mean(y < 0), np.mean(y > 0))
    forms = kernels.images(y * alpha).forms
    t = 2 * float(forms.max())
    point = Point(alpha, t, t - forms, np.full(p, budget / p), np.ones(n), np.ones(n), 0.0)
    best, best_gap = point, np.inf
    for _ in range(STEPS):
        gap = _relative_gap(kernels, y, budget, point)
        if gap < best_gap:
            best, best_gap = point, gap
        if gap <= goal or not gap < LOST * best_gap:
            break
        try:
            point = _step(kernels, y, budget, point)
        except np.linalg.LinAlgError:
            break  # rounding has made the system indefinite: the best point is as good as it gets
    return best


def _relative_gap(kernels: BaseKernels, y: Floats, budget: float, point: Point) -> float:
    """Return the relative gap between the machine with weights scaled to the budget and the objective at alpha."""
    images = kernels.images(y * point.alpha)
    forms = images.forms
    weights = point.weights * (budget / point.weights.sum())
    upper, _ = primal_value(images, y, weights, point.intercept)
    return (upper - float(2 * point.alpha.sum() - budget * forms.max())) / upper


def primal_value(images: Images, y: Floats, weights: Floats, intercept: float) -> tuple[float, float]:
    """Return `||w||^2 + 2 sum of slacks` of the machine, and the factor by which to multiply the machine to reach it.

    Where all margins are one up to rounding, the slacks may sum to more than the rest of the value; a slightly larger
    multiple of the same machine has none.
    """
    margins = y * (images.sum(weights) + intercept)
    least = float(margins.min())
    factors = (1.0, 1.0 / least) if ALMOST_ONE < least < 1.0 else (1.0,)
    square = float(weights @ images.forms)
    return min((f**2 * square + 2 * float(np.maximum(0.0, 1.0 - f * margins).sum()), f) for f in factors)


def _step(kernels: BaseKernels, y: Floats, budget: float, point: Point) -> Point:
    images, room = kernels.images(y * point.alpha), point.room
    dual = -2 + 2 * y * images.sum(point.weights) - point.lower + point.upper + point.nu * y
    dual_t = budget - point.weights.sum()
    primal, equality = images.forms + point.slack - point.t, float(y @ point.alpha)
    ratio = point.weights / point.slack
    # Y H Y = D + 2 K_mu + 4 sum_k ratio_k (K_k Y alpha)(K_k Y alpha)'
    solve = kernels.solver(point.lower / point.alpha + point.upper / room, 2 * point.weights, 4 * ratio, images)
    coupling = -2 * y * images.sum(ratio)
    borders = np.column_stack([coupling, y])
    solved_borders = y[:, None] * solve(y[:, None] * borders)
    corner = np.array([[ratio.sum(), 0.0], [0.0, 0.0]]) - borders.T @ solved_borders

    def newton(slack: Floats, lower: Floats, upper: Floats, residual: Floats) -> Point:
        """Return the step that gives the products of slacks and multipliers the requested values, to first order."""
        e = slack / point.slack + ratio * residual
        right = -dual - 2 * y * images.sum(e) + lower / point.alpha - upper / room
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
            (upper + point.upper * alpha) / room,
            nu,
        )

    products = point.slack * point.weights, point.alpha * point.lower, room * point.upper
    predictor = newton(-products[0], -products[1], -products[2], primal)
    length = point.reach(predictor)
    now = point.complementarity()
    target = now * (point.moved(predictor, length).complementarity() / now) ** 3
    corrector = newton(
        target - products[0] - predictor.slack * predictor.weights,
        target - products[1] - predictor.alpha * predictor.lower,
        target - products[2] + predictor.alpha * predictor.upper,
        primal + length**2 * kernels.images(y * predictor.alpha).forms,
    )
    length, allowed = point.reach(corrector), GROWTH * _distance(kernels, y, budget, point)
    moved = point.moved(corrector, length)
    while length > LEAST_STEP and not _distance(kernels, y, budget, moved) <= allowed:
        length /= 2
        moved = point.moved(corrector, length)
    return moved


def _distance(kernels: BaseKernels, y: Floats, budget: float, point: Point) -> float:
    """Return the distance from the optimum: products of slacks and multipliers, and errors of the slacks."""
    residual = kernels.images(y * point.alpha).forms + point.slack - point.t
    return point.complementarity() + budget * float(np.abs(residual).max()) / len(y)
