"""Solve support vector machines of many samples by working sets, which need only some rows of the kernel.

In each round, the dual variables of the samples that violate the optimality conditions most, and of those on the
margin, are optimised. The other samples of each class are represented by their weighted mean in feature space, whose
weight may change as well. The small problem is thus a support vector machine itself, with at most two more samples than
the working set, and libsvm solves it. Without the means, huge values of C took ten times as many rounds (dataset a9a,
n = 4,000).

The functions for one round are separate, so that the samples could be distributed over workers: `choose_working_set`
and `solve_working_set` need numbers per sample only, and `add_contributions` needs only the part of the rows of the
working set that belongs to the samples of one worker.
"""

import warnings
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.learners.svm_certificate import movable

# Number of violating samples that join the working set in a round, and the largest size of the set.
VIOLATORS, MAX_WORKING_SET = 500, 8000
# Tolerance of libsvm: relative to the current violation, and its bounds. libsvm stores kernels as float32.
RELATIVE_TOLERANCE, MIN_TOLERANCE, MAX_TOLERANCE = 0.03, 1e-6, 1e-3
MAX_ITERATIONS = 1_000_000
# Variables that are below their upper bounds by at most this fraction of them are set to these bounds.
BOUND_TOLERANCE = 1e-12
CACHE_MEGABYTES = 200


@dataclass(frozen=True)
class SvmState:
    """State of a solver between two rounds, which can be stored as a checkpoint."""

    cost: float
    """The value of C."""
    alpha: Floats
    """Dual variables, (n,)."""
    images: Floats
    """Products of the kernel with the dual variables of the positive and of the negative samples, (n, 2)."""

    @classmethod
    def start(cls, samples: int, cost: float) -> Self:
        """Return the state in which all variables are zero."""
        return cls(cost, np.zeros(samples), np.zeros((samples, 2)))

    @property
    def values(self) -> Floats:
        """Return the values of the classifier, without intercept, (n,)."""
        return np.asarray(self.images[:, 0] - self.images[:, 1])

    @property
    def spread(self) -> float:
        """Return the difference between the largest and the smallest of the classifier's values."""
        return float(np.ptp(self.values))

    def at(self, cost: float, labels: Floats) -> Self:
        """Return the best multiple of this state that is feasible for another C; this requires no kernel values."""
        total, square = float(self.alpha.sum()), float((labels * self.alpha) @ self.values)
        limit = cost / self.cost
        factor = min(limit, total / square) if square > 0.0 else limit
        return replace(self, cost=cost, alpha=factor * self.alpha, images=factor * self.images)


@dataclass(frozen=True)
class RoundResult:
    """Result of a round."""

    working: Integers
    """Samples of the working set, in ascending order."""
    alpha: Floats
    """Their new variables."""
    factors: Floats
    """Factors of the variables of the other positive and negative samples, (2,)."""
    changes: Floats
    """Coefficients of the rows of the working set in the change of the images, (size of the set, 2)."""


def libsvm_tolerance(violation: float, spread: float) -> float:
    """Return the tolerance of libsvm for a working set, given the largest violation and the spread of the values."""
    return min(MAX_TOLERANCE, max(MIN_TOLERANCE * min(1.0, spread), RELATIVE_TOLERANCE * violation))


def choose_working_set(
    state: SvmState, labels: Floats, bounds: Floats, max_size: int = MAX_WORKING_SET
) -> tuple[Integers, float]:
    """Return the working set of the next round, and the largest violation of the optimality conditions.

    Half of the violating samples are those whose `y_i alpha_i` should increase most, half those for which it should
    decrease most. Samples on the margin fill the set up to its maximum size, those with the largest deviations first.
    """
    kinks = labels - state.values
    up, down = (np.flatnonzero(mask) for mask in movable(labels, state.alpha, bounds))
    half = max(1, min(VIOLATORS, max_size) // 2)
    first = up[np.argsort(-kinks[up], kind="stable")[:half]]
    last = down[np.argsort(kinks[down], kind="stable")[:half]]
    highest, lowest = kinks[first[0]], kinks[last[0]]
    chosen = np.union1d(first, last)
    free = np.setdiff1d(np.flatnonzero((state.alpha > 0.0) & (state.alpha < bounds)), chosen)
    deviations = np.abs(kinks[free] - (highest + lowest) / 2)
    kept = free[np.argsort(-deviations, kind="stable")[: max(0, max_size - len(chosen))]]
    return np.union1d(chosen, kept).astype(np.int64), float(highest - lowest)


def solve_working_set(
    state: SvmState, labels: Floats, bounds: Floats, working: Integers, block: Floats, tolerance: float
) -> RoundResult:
    """Optimise the working set and the weights of the means of the other samples.

    Parameters
    ----------
    block
        Kernel of the working set, (size of the set, size of the set).
    tolerance
        Tolerance of libsvm.
    """
    groups = np.column_stack([labels > 0.0, labels < 0.0])
    before = np.where(groups[working], state.alpha[working, None], 0.0)
    rest = state.alpha.copy()
    rest[working] = 0.0
    others = np.where(groups, rest[:, None], 0.0)
    weights = others.sum(axis=0)
    # Images of the other samples, and products of their groups, (size of the set, 2) and (2, 2).
    images = state.images[working] - block @ before
    products = others.T @ state.images - images.T @ before
    present = np.flatnonzero(weights > 0.0)
    limits = np.array([_largest_factor(others[:, group], bounds) for group in present])
    found = _libsvm(
        _bordered(block, images[:, present], products[np.ix_(present, present)], weights[present]),
        np.concatenate([labels[working], np.array([1.0, -1.0])[present]]),
        np.concatenate([bounds[working], weights[present] * limits]),
        tolerance,
    )
    alpha, factors = found[: len(working)], np.ones(2)
    factors[present] = found[len(working) :] / weights[present]
    after = np.where(groups[working], alpha[:, None], 0.0)
    return RoundResult(working, alpha, factors, after - factors * before)


def _largest_factor(alpha: Floats, bounds: Floats) -> float:
    """Return the largest factor by which variables can be multiplied; exactly 1 if one of them is at its bound."""
    positive = alpha > 0.0
    return float((bounds[positive] / alpha[positive]).min())


def _bordered(block: Floats, images: Floats, products: Floats, weights: Floats) -> Floats:
    """Return the centered kernel of the working set and of the means of the other samples.

    Centering does not change the solution, because the sum of `y_i alpha_i` is zero, but it improves the precision of
    libsvm's float32 numbers.
    """
    size = len(block)
    small = np.empty((size + len(weights),) * 2)
    small[:size, :size] = block
    small[:size, size:] = images / weights
    small[size:, :size] = small[:size, size:].T
    small[size:, size:] = (products + products.T) / 2 / np.outer(weights, weights)
    means = small.mean(axis=0)
    small -= means
    small -= (means - means.mean())[:, None]
    return small


def _libsvm(kernel: Floats, labels: Floats, bounds: Floats, tolerance: float) -> Floats:
    """Return the dual variables of a support vector machine with a bound of its own for every sample."""
    # Importing scikit-learn takes two seconds, and a regression does not need it.
    import sklearn
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the duality gap shows whether the solution is good
        machine = SVC(
            C=1.0, kernel="precomputed", tol=tolerance, cache_size=CACHE_MEGABYTES, max_iter=MAX_ITERATIONS
        ).fit(kernel, labels, sample_weight=bounds)
    alpha = np.zeros(len(labels))
    alpha[machine.support_] = np.abs(machine.dual_coef_[0])
    return alpha


def add_contributions(images: Floats, rows: Floats, changes: Floats) -> None:
    """Add the contribution of some rows of the working set to the images of some samples, in place.

    Parameters
    ----------
    images
        Images of the samples of a part, already multiplied by the factors of the round, (samples, 2).
    rows
        Kernel of some samples of the working set against the part, (rows, samples).
    changes
        The coefficients of these rows, (rows, 2).
    """
    images += rows.T @ changes


def next_alpha(alpha: Floats, labels: Floats, bounds: Floats, result: RoundResult) -> Floats:
    """Return the dual variables after a round; those just below their upper bound, by rounding only, are set to it."""
    found = alpha * np.where(labels > 0.0, *result.factors)
    found[result.working] = result.alpha
    return np.where(found > (1.0 - BOUND_TOLERANCE) * bounds, bounds, found)
