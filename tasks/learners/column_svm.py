"""Fit support vector machines on few columns by a primal-dual interior-point method.

    min  |Z'Y a|^2 / 2 - 1'a     such that  0 <= a <= c,  y'a = 0

where the columns Z include the factor sqrt(C), and c are the class weights of the samples. A step needs one product
`Z' diag Z`, which costs n r^2 operations for r columns, so that no n x n matrix is formed. Mehrotra's predictor and
corrector share its factorisation. The method takes 12 to 25 steps.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.learned import relative_gap
from kernel_pipeline.tasks.learners.svm_certificate import best_intercept

# Relative duality gap at which the iteration stops.
GAP = 1e-6
MAX_STEPS = 60
# Maximum step length, as a fraction of the distance to the boundary.
BOUNDARY_FRACTION = 0.995


@dataclass(frozen=True)
class Machine:
    """A linear support vector machine `Z w + intercept`, and the relative duality gap that certifies it."""

    coefficients: Floats
    intercept: float
    gap: float


@dataclass
class _Point:
    """An iterate: variables a, multipliers of their lower and upper bounds, and that of the equality constraint."""

    a: Floats
    lower: Floats
    upper: Floats
    intercept: float

    def complementarity(self, upper_slack: Floats) -> float:
        """Return the mean product of slacks and multipliers."""
        return float(self.a @ self.lower + upper_slack @ self.upper) / (2 * len(self.a))

    def max_step_length(self, step: "_Point", upper_slack: Floats) -> float:
        """Return the largest fraction of a step, at most 1, for which all variables stay positive."""
        pairs = ((self.a, step.a), (upper_slack, -step.a), (self.lower, step.lower), (self.upper, step.upper))
        length = min(float(np.min(-value[change < 0] / change[change < 0], initial=np.inf)) for value, change in pairs)
        return min(1.0, BOUNDARY_FRACTION * length)

    def moved(self, step: "_Point", length: float) -> "_Point":
        """Return the point after a fraction of a step."""
        return _Point(
            self.a + length * step.a,
            self.lower + length * step.lower,
            self.upper + length * step.upper,
            self.intercept + length * step.intercept,
        )


def fit_column_machine(columns: Floats, y: Floats, bounds: Floats) -> Machine:
    """Return the machine with the smallest gap of all iterates; the iteration stops at a gap of `GAP`.

    Parameters
    ----------
    columns
        Columns Z of the training samples, (n, r); a bound C of all samples may be included as a factor sqrt(C).
    y
        Labels -1 and +1, both of which occur, (n,).
    bounds
        Upper bounds c of the variables, (n,).
    """
    signed = columns * y[:, None]
    totals = {sign: float(bounds[y == sign].sum()) for sign in (-1.0, 1.0)}
    share = {sign: min(1.0, totals[-sign] / totals[sign]) / 2 for sign in totals}  # satisfies y'a = 0
    a = bounds * np.where(y > 0, share[1.0], share[-1.0])
    point = _Point(a, np.ones_like(a), np.ones_like(a), 0.0)
    best = _certified(signed, y, bounds, point)
    for _ in range(MAX_STEPS):
        if best.gap <= GAP:
            break
        try:
            point = _step(signed, y, bounds, point)
        except np.linalg.LinAlgError:
            break  # rounding has made the system indefinite, so the best point cannot be improved
        found = _certified(signed, y, bounds, point)
        best = min(best, found, key=lambda machine: machine.gap)
    return best


def _certified(signed: Floats, y: Floats, bounds: Floats, point: _Point) -> Machine:
    """Return the machine of a point.

    Its gap is computed with the dual point in which `a` is scaled per class so that `y'a = 0`.
    """
    coefficients = signed.T @ point.a
    decisions = y * (signed @ coefficients)
    intercept = float(best_intercept(decisions, y, bounds))
    losses = np.maximum(0.0, 1.0 - y * (decisions + intercept))
    primal = float(coefficients @ coefficients) / 2 + float(bounds @ losses)
    sums = {sign: float(point.a[y == sign].sum()) for sign in (-1.0, 1.0)}
    least = min(sums.values())
    feasible = point.a * np.where(y > 0, least / sums[1.0], least / sums[-1.0])
    image = signed.T @ feasible
    dual = float(feasible.sum()) - float(image @ image) / 2
    return Machine(coefficients, intercept, relative_gap(primal, dual))


def _step(signed: Floats, y: Floats, bounds: Floats, point: _Point) -> _Point:
    """Return the next iterate: a predictor and a corrector, which share one factorisation."""
    upper_slack = bounds - point.a
    diagonal = point.lower / point.a + point.upper / upper_slack
    scaled = signed / np.sqrt(diagonal)[:, None]
    small = scaled.T @ scaled
    small[np.diag_indices(len(small))] += 1.0
    factor = scipy.linalg.cho_factor(small, check_finite=False)

    def solve_once(b: Floats) -> Floats:
        reduced = b / diagonal
        solved = scipy.linalg.cho_solve(factor, signed.T @ reduced, check_finite=False)
        return np.asarray(reduced - (signed @ solved) / diagonal)

    def solve(b: Floats) -> Floats:
        """Solve `(diagonal + Z Z') x = b` by Woodbury's formula with one step of refinement."""
        x = solve_once(b)
        return x + solve_once(b - diagonal * x - signed @ (signed.T @ x))

    dual = signed @ (signed.T @ point.a) - 1.0 + point.intercept * y - point.lower + point.upper
    equality = float(y @ point.a)
    border = solve(y)
    corner = float(y @ border)

    def newton(lower: Floats, upper: Floats) -> _Point:
        """Return the step that, to first order, changes the products of slacks and multipliers by the given amounts."""
        x = solve(-dual + lower / point.a - upper / upper_slack)
        intercept = (float(y @ x) + equality) / corner
        a = x - border * intercept
        return _Point(a, (lower - point.lower * a) / point.a, (upper + point.upper * a) / upper_slack, intercept)

    products = point.a * point.lower, upper_slack * point.upper
    predictor = newton(-products[0], -products[1])
    length = point.max_step_length(predictor, upper_slack)
    now = point.complementarity(upper_slack)
    after = point.moved(predictor, length).complementarity(upper_slack - length * predictor.a)
    target = now * (after / now) ** 3
    corrector = newton(
        target - products[0] - predictor.a * predictor.lower, target - products[1] + predictor.a * predictor.upper
    )
    return point.moved(corrector, point.max_step_length(corrector, upper_slack))
