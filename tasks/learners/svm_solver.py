"""Fit a support vector machine of two classes along a path of `C` by working sets, in one process."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.learners.kernel_rows import KernelRows
from kernel_pipeline.tasks.learners.svm_certificate import intercept, relative_duality_gap
from kernel_pipeline.tasks.learners.working_sets import (
    SvmState,
    add_contributions,
    choose_working_set,
    libsvm_tolerance,
    next_alpha,
    solve_working_set,
)
from kernel_pipeline.tasks.progress import progress_part, report_progress

# Relative duality gap at which the solver stops. Fits with a gap of up to `MAX_GAP` are valid.
GAP = 1e-4
# Largest violation of the optimality conditions at which it stops: relative to the spread of the values, and absolute.
VIOLATION, ROUNDING = 1e-3, 1e-12
MAX_ROUNDS = 500
# The solver stops after `MAX_STALLED` rounds in a row that increase the dual value by less than this fraction of it:
# rounding dominates, or the kernel is indefinite.
MIN_PROGRESS, MAX_STALLED = 1e-7, 10
# Number of rows that are copied or computed at a time.
ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class SvmFit:
    """A support vector machine of two classes, `x -> sum_i coefficients_i K(x, x_i) + intercept`."""

    coefficients: Floats
    """`y_i alpha_i` of the training samples, (n,)."""
    intercept: float
    fitted: Floats
    """Decision values of the training samples, (n,)."""
    gap: float
    """Relative duality gap; NaN if the kernel is indefinite."""


@dataclass(frozen=True)
class SvmProblem:
    """Kernel, labels and the relative weight of each sample."""

    kernel: KernelRows
    labels: Floats
    """Labels -1 and +1, (n,), both of which must occur."""
    weights: Floats
    """Factors of `C`, (n,)."""
    max_working_set: int
    rows_at_a_time: int = ROWS_AT_A_TIME
    """Number of rows that are held besides those of a cache."""

    def gap(self, state: SvmState) -> float:
        """Return the relative duality gap of a state."""
        return float(relative_duality_gap(state.values, self.labels, state.alpha, state.cost * self.weights))

    def dual_value(self, state: SvmState) -> float:
        """Return the objective of the dual problem."""
        return float(state.alpha.sum() - (self.labels * state.alpha) @ state.values / 2)

    def choose(self, state: SvmState) -> tuple[Integers, float]:
        """Return the working set of the next round, and the largest violation of the optimality conditions."""
        return choose_working_set(state, self.labels, state.cost * self.weights, self.max_working_set)

    def improve(self, state: SvmState, working: Integers, violation: float) -> SvmState:
        """Return the state after a round with a working set."""
        bounds = state.cost * self.weights
        block = np.empty((len(working),) * 2)
        for part in row_parts(len(working), self.rows_at_a_time):
            block[part] = self.kernel.rows(working[part])[:, working]
        tolerance = libsvm_tolerance(violation, state.spread)
        result = solve_working_set(state, self.labels, bounds, working, block, tolerance)
        images = state.images * result.factors
        changed = np.flatnonzero(result.changes.any(axis=1))
        for part in row_parts(len(changed), self.rows_at_a_time):
            add_contributions(images, self.kernel.rows(working[changed[part]]), result.changes[changed[part]])
        return replace(state, alpha=next_alpha(state.alpha, self.labels, bounds, result), images=images)

    def machine(self, state: SvmState, gap: float) -> SvmFit:
        """Return the machine of a state."""
        constant = intercept(state.values, self.labels, state.alpha, state.cost * self.weights)
        return SvmFit(self.labels * state.alpha, constant, state.values + constant, gap)


def fit_machines(problem: SvmProblem, costs: Sequence[float], goal: float = GAP) -> list[SvmFit]:
    """Fit machines for all values of C; each starts from the solution for the previous one."""
    state = SvmState.start(len(problem.labels), costs[0])
    found = []
    for number, cost in enumerate(costs, 1):
        with progress_part(f"value {number} of {len(costs)}"):
            state, gap = solve(problem, state.at(cost, problem.labels), goal)
        found.append(problem.machine(state, gap))
    return found


def solve(problem: SvmProblem, state: SvmState, goal: float = GAP) -> tuple[SvmState, float]:
    """Improve a state until its gap is at most `goal`; return the state with the smallest gap, and this gap.

    The violation of the optimality conditions must also be small relative to the spread of the values, which matters if
    C is so small that all values are almost equal.
    """
    best, best_gap, stalled = state, problem.gap(state), 0
    for number in range(1, MAX_ROUNDS + 1):
        report_progress(f"round {number}, gap {best_gap:.1g}")
        working, violation = problem.choose(state)
        solved = best_gap <= goal and violation <= VIOLATION * state.spread + ROUNDING
        if solved or stalled == MAX_STALLED or np.isnan(best_gap):
            break
        before, state = problem.dual_value(state), problem.improve(state, working, violation)
        stalled = 0 if problem.dual_value(state) > (1.0 + MIN_PROGRESS) * before else stalled + 1
        gap = problem.gap(state)
        if not gap >= best_gap:  # a gap of NaN replaces the others, since it shows that they certify nothing
            best, best_gap = state, gap
    return best, best_gap


def row_parts(count: int, size: int) -> Iterator[slice]:
    """Divide `count` rows into parts of at most `size` rows."""
    for start in range(0, count, size):
        yield slice(start, min(start + size, count))
