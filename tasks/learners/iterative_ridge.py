"""Solve a ridge path by iterations, for kernels of many samples.

Large ridges share a preconditioner of low rank, and smaller ones are solved in groups with one factorisation each. The
kernel is only used through a `KernelOperator`, so that it may be distributed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.learners import block_cg, shift_invert
from kernel_pipeline.tasks.learners.kernel_operator import KernelOperator
from kernel_pipeline.tasks.learners.preconditioner import LowRankApproximation, approximate_kernel
from kernel_pipeline.tasks.learners.ridge_cost import (
    MIN_RIDGE,
    RidgeGroups,
    cg_steps,
    divide_ridges,
    lanczos_steps,
    max_rank,
)
from kernel_pipeline.tasks.progress import progress_part, report_progress

# Relative residual up to which a solution is accepted, and at which conjugate gradients stop.
MAX_RESIDUAL, RESIDUAL = 1e-6, 1e-7
# Relative residual at which Lanczos iterations for smaller ridges stop. It is smaller than `RESIDUAL`, since a residual
# r changes predictions by up to `sqrt(K(x, x)) |r| / (2 sqrt(l))`.
SMALL_RIDGE_RESIDUAL = 1e-8
# The limit on steps is `STEPS_RATIO` times the expected number, but at least `MIN_STEPS` and at most `MAX_STEPS`.
STEPS_RATIO, MIN_STEPS, MAX_STEPS = 2.5, 20, 500
# Number of refinements of a solution with the factorisation at its own ridge.
REFINEMENTS = 3
# A block of columns has at most `n^2 / BLOCK_RATIO` numbers; steps of conjugate gradients hold about seven of them.
BLOCK_RATIO = 80
# All Lanczos vectors together have at most `n^2 / VECTORS_RATIO` numbers.
VECTORS_RATIO = 6


def solve_ridge_path(operator: KernelOperator, target: Floats, ridges: Floats) -> tuple[Floats, Floats]:
    """Solve `(K + l I) x = y` for every output y and every ridge l.

    Parameters
    ----------
    target
        (n, outputs)
    ridges
        Ridges, in descending order.

    Returns
    -------
    solutions, images
        x and `K x`, (n, outputs, ridges), NaN for a ridge that is too small to make `K + l I` positive definite.
    """
    large, groups = solve_large_ridges(operator, target, ridges)
    solutions = np.concatenate([large, np.full((*target.shape, len(ridges) - groups.iterated), np.nan)], axis=2)
    for first, last in groups.factorised:
        if np.isnan(solutions[0, :, :first]).any():  # a larger ridge is already too small
            break
        with progress_part(f"ridges {first + 1} to {last} of {len(ridges)}"):
            solutions[:, :, first:last] = solve_ridge_group(operator, target, ridges[first:last])
    return solutions, refine_solutions(operator, target, ridges, solutions)


def solve_large_ridges(operator: KernelOperator, target: Floats, ridges: Floats) -> tuple[Floats, RidgeGroups]:
    """Solve for the large ridges of a path with a preconditioner of low rank.

    Parameters
    ----------
    target
        (n, outputs)
    ridges
        All ridges of the path, in descending order.

    Returns
    -------
    solutions
        (n, outputs, number of large ridges)
    groups
        Number of large ridges, and the groups of the others.
    """
    approximation = approximate_kernel(operator, max_rank(operator.size), float(ridges[-1]))
    groups = divide_ridges(operator.size, ridges, target.shape[1], approximation.tail)
    large = ridges[: groups.iterated]
    systems = _Systems(operator, target, large, np.zeros((*target.shape, len(large))))
    if len(large):
        with progress_part(f"ridges 1 to {len(large)} of {len(ridges)}"):
            systems.solve_large(np.arange(len(large)), approximation)
    return systems.solutions, groups


def solve_ridge_group(operator: KernelOperator, target: Floats, ridges: Floats) -> Floats:
    """Solve for the ridges of a group, in descending order, with one factorisation; (n, outputs, ridges)."""
    systems = _Systems(operator, target, ridges, np.zeros((*target.shape, len(ridges))))
    systems.solve_group(np.arange(len(ridges)))
    return systems.solutions


def refine_solutions(operator: KernelOperator, target: Floats, ridges: Floats, solutions: Floats) -> Floats:
    """Refine the solutions with large residuals in place; return the products of the kernel and all solutions."""
    systems = _Systems(operator, target, ridges, solutions)
    images = systems.images(np.arange(len(ridges)))
    for number in np.flatnonzero(relative_residuals(target, ridges, solutions, images) > MAX_RESIDUAL):
        one = np.array([number])
        with progress_part(f"refinement of ridge {number + 1} of {len(ridges)}"):
            systems.refine(one)
        images[:, :, one] = systems.images(one)
        if relative_residuals(target, ridges[one], solutions[:, :, one], images[:, :, one])[0] > MAX_RESIDUAL:
            break  # the residual is due to rounding, which is larger for the smaller ridges that follow
    return images


def relative_residuals(target: Floats, ridges: Floats, solutions: Floats, images: Floats) -> Floats:
    """Return `|y - K x - l x| / |y|` of every ridge l, the largest one of all outputs y.

    Parameters
    ----------
    solutions, images
        x and `K x`, (n, outputs, ridges).

    Returns
    -------
    (ridges,)
        NaN for a ridge without a solution. An output that is 0 has the solution 0, and the residual 0.
    """
    norms = np.linalg.norm(target, axis=0)
    found = [
        np.linalg.norm(target - images[:, :, number] - ridge * solutions[:, :, number], axis=0)
        / np.where(norms > 0, norms, 1.0)
        for number, ridge in enumerate(ridges)
    ]
    return np.asarray(np.max(found, axis=1))


@dataclass(frozen=True)
class _Systems:
    """Systems `(K + l I) x = y` of all outputs and ridges, with the solutions computed so far."""

    operator: KernelOperator
    target: Floats
    ridges: Floats
    solutions: Floats

    def solve_large(self, indices: Integers, approximation: LowRankApproximation) -> None:
        """Solve for the ridges with the given indices, with a preconditioner of low rank."""
        n, ridges = self.operator.size, self.ridges[indices]
        max_steps = _max_steps(max(cg_steps(ridges, approximation.tail)))
        for outputs in _batches(self.target.shape[1], n // (BLOCK_RATIO * len(ridges))):
            right = np.repeat(self.target[:, outputs], len(ridges), axis=1)
            limits = RESIDUAL * np.linalg.norm(right, axis=0)
            each = np.tile(ridges, len(outputs))
            state = block_cg.start(right, each, limits, approximation.precondition)
            while len(state.active) and state.steps < max_steps:
                block_cg.step(state, self.operator.multiply, approximation.precondition)
                self._report_steps(state.steps, len(np.unique(state.active % len(ridges))), len(ridges), outputs)
            state.solutions[:, state.indefinite] = np.nan
            self.solutions[:, outputs[:, None], indices] = state.solutions.reshape(n, len(outputs), len(ridges))

    def solve_group(self, indices: Integers) -> None:
        """Solve for the ridges with the given indices, with one factorisation; NaN for ridges that are too small."""
        factorised_ridge, solve = 0.0, None
        while solve is None and len(indices):
            ridges = np.maximum(self.ridges[indices], MIN_RIDGE)
            factorised_ridge = float(np.sqrt(ridges[0] * ridges[-1]))
            report_progress("factorisation")
            solve = self.operator.factorise(factorised_ridge)
            if solve is None:
                self.solutions[:, :, indices[ridges <= factorised_ridge]] = np.nan
                indices = indices[ridges > factorised_ridge]
        if solve is None:
            return
        max_steps = _max_steps(lanczos_steps(ridges))
        for outputs in _batches(self.target.shape[1], self.operator.size // (VECTORS_RATIO * max_steps)):
            right = self.target[:, outputs]
            state = shift_invert.start(right, factorised_ridge, self.ridges[indices], SMALL_RIDGE_RESIDUAL, max_steps)
            while not state.is_done:
                shift_invert.step(state, solve)
                unsolved = ~(state.converged | state.indefinite).all(axis=0)
                self._report_steps(state.steps, int(unsolved.sum()), len(indices), outputs)
            self.solutions[:, outputs[:, None], indices] = state.solutions()

    def _report_steps(self, steps: int, unsolved: int, ridges: int, outputs: Integers) -> None:
        """Report the steps for a batch of outputs; each is one pass over the kernel or its factor."""
        count = self.target.shape[1]
        batch = f"outputs {outputs[0] + 1} to {outputs[-1] + 1} of {count}, " if len(outputs) < count else ""
        report_progress(f"{batch}pass {steps}, {ridges - unsolved} of {ridges} ridges done")

    def refine(self, one: Integers) -> None:
        """Refine the solutions for one ridge with a factorisation of its own."""
        ridge = float(self.ridges[one[0]])
        solve = self.operator.factorise(ridge)
        for _ in range(REFINEMENTS):
            for outputs in _batches(self.target.shape[1], self.operator.size // BLOCK_RATIO):
                found = self.solutions[:, outputs, one[0]]
                rest = self.target[:, outputs] - self.operator.multiply(found) - ridge * found
                self.solutions[:, outputs, one[0]] = np.nan if solve is None else found + solve(rest)

    def images(self, indices: Integers) -> Floats:
        """Return the products of the kernel and the solutions for the given ridges, (n, outputs, ridges)."""
        n, outputs = self.target.shape
        found = np.empty((n, outputs, len(indices)))
        for chosen in _batches(outputs, self.operator.size // (BLOCK_RATIO * len(indices))):
            block = self.solutions[:, chosen[:, None], indices].reshape(n, -1)
            found[:, chosen] = self.operator.multiply(block).reshape(n, len(chosen), len(indices))
        return found


def _max_steps(expected: float) -> int:
    return max(MIN_STEPS, int(min(STEPS_RATIO * expected, MAX_STEPS)))


def _batches(count: int, size: int) -> Iterator[Integers]:
    """Yield the numbers below `count` in batches of `size`, of at least one number each."""
    for first in range(0, count, max(size, 1)):
        yield np.arange(first, min(first + max(size, 1), count))
