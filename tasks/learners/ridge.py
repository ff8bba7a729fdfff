"""Fit kernel ridge regression along a path of ridges, and certify each solution by its residual."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, require_finite
from kernel_pipeline.tasks.errors import NotPositiveDefiniteError, NotSolvedError
from kernel_pipeline.tasks.learners.fitted_path import FittedPath
from kernel_pipeline.tasks.learners.iterative_ridge import MAX_RESIDUAL, relative_residuals, solve_ridge_path
from kernel_pipeline.tasks.learners.kernel_operator import InMemoryKernel
from kernel_pipeline.tasks.learners.ridge_cost import choose_approach
from kernel_pipeline.tasks.learners.tridiagonal import tridiagonal_path


@dataclass(frozen=True)
class RidgePredictor:
    """Coefficients of all outputs and ridges, from which predictions follow; it can be pickled."""

    coefficients: Floats
    """(n, outputs, number of ridges)"""
    means: Floats
    """Means of the target, (outputs,)."""

    def predict(self, rows: Floats) -> Floats:
        """Return predictions, (q, outputs, number of ridges), given centered rows of the kernel, (q, n)."""
        require_finite("the kernel", rows)
        n, _, ridges = self.coefficients.shape
        flat = self.coefficients.reshape(n, -1)
        return np.asarray((rows @ flat).reshape(len(rows), -1, ridges) + self.means[:, None])


def fit_ridge_path(square: Floats, target: Floats, ridges: Sequence[float] | Floats) -> FittedPath:
    """Fit kernel ridge regression for all ridges in place, with memory for at most 0.3 n^2 numbers besides the kernel.

    Parameters
    ----------
    square
        Kernel centered with the training means, (n, n), in C order; the intercept is then the mean of the target. Its
        lower triangle is read, and its upper triangle is overwritten.
    target
        Labels of the training samples, (n, outputs).

    Returns
    -------
    FittedPath
        Fits whose certificates are the relative residuals `|y - (K + l I) x| / |y|`, the largest one of all outputs.
        Predictions are NaN for a ridge that is too small to make `K + l I` positive definite, and for one whose
        residual is above `MAX_RESIDUAL`.

    Raises
    ------
    NotPositiveDefiniteError, NotSolvedError
        If there are no predictions for any ridge.
    """
    require_finite("the kernel", square)
    centered, values = target - target.mean(axis=0), np.asarray(ridges, dtype=np.float64)
    return certified_fits(target, values, *_solve(square, centered, values))


def certified_fits(target: Floats, ridges: Floats, coefficients: Floats, images: Floats) -> FittedPath:
    """Return the fits for given solutions, with NaN for those that are not certified; the arrays are overwritten.

    Parameters
    ----------
    target
        Labels of the training samples, (n, outputs).
    coefficients, images
        Solutions x of `(K + l I) x = y` for centered labels y, and `K x`, (n, outputs, ridges).

    Raises
    ------
    NotPositiveDefiniteError, NotSolvedError
        If no solution is certified.
    """
    means = target.mean(axis=0)
    residuals = relative_residuals(target - means, ridges, coefficients, images)
    if np.isnan(residuals).all():
        raise NotPositiveDefiniteError(
            f"the kernel has an eigenvalue below -{max(ridges):g}, so even the largest ridge, {max(ridges):g}, does "
            "not make it positive definite; increase 'to' in [fit] krr"
        )
    uncertified = uncertified_ridges(residuals)
    coefficients[:, :, uncertified] = np.nan
    images[:, :, uncertified] = np.nan
    return FittedPath(images + means[:, None], RidgePredictor(coefficients, means).predict, residuals)


def uncertified_ridges(residuals: Floats) -> Booleans:
    """Return a mask of the ridges that cannot be chosen, since their relative residual is above `MAX_RESIDUAL`.

    Raises
    ------
    NotSolvedError
        If there is no other ridge.
    """
    uncertified = np.asarray(~(residuals <= MAX_RESIDUAL))
    if uncertified.all():
        raise NotSolvedError(
            f"the relative residual of every ridge is above {MAX_RESIDUAL:g}; the smallest one is "
            f"{np.nanmin(residuals):.1e}. Increase 'to' in [fit] krr"
        )
    return uncertified


def ridge_coefficients(square: Floats, target: Floats, ridges: Sequence[float]) -> tuple[Floats, Floats]:
    """Return the coefficients of the training samples, (n, outputs, number of ridges), and the relative residuals.

    The predictions are the products of centered rows of the kernel and coefficients, plus the means of the target. The
    arguments are those of `fit_ridge_path`, whose solutions these are.
    """
    require_finite("the kernel", square)
    centered, values = target - target.mean(axis=0), np.asarray(ridges, dtype=np.float64)
    coefficients, images = _solve(square, centered, values)
    return coefficients, relative_residuals(centered, values, coefficients, images)


def _solve(square: Floats, target: Floats, ridges: Floats) -> tuple[Floats, Floats]:
    """Return the solutions x for all outputs and ridges, and `K x`, both (n, outputs, ridges)."""
    kernel = InMemoryKernel(square)
    if choose_approach(len(square), ridges, target.shape[1]).is_tridiagonal:
        solutions = tridiagonal_path(kernel, target, ridges)
        kernel.mirror()
        return solutions, (square @ solutions.reshape(len(target), -1)).reshape(solutions.shape)
    order = np.argsort(-ridges, kind="stable")
    back = np.argsort(order)
    solutions, images = solve_ridge_path(kernel, target, ridges[order])
    return solutions[:, :, back], images[:, :, back]
