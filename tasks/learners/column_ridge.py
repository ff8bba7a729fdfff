"""Fit ridge regression on few columns along a path of ridges, with one singular value decomposition.

With `K = Z Z'` of rank r, the predictions `Z_h b` with `(Z'Z + ridge I) b = Z'y` are those of kernel ridge regression,
and no n x n matrix is formed.
"""

from collections.abc import Sequence

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Floats, require_finite
from kernel_pipeline.tasks.learners.factored import FactoredKernel
from kernel_pipeline.tasks.learners.ridge import uncertified_ridges


def column_ridge_path(kernel: FactoredKernel, target: Floats, ridges: Sequence[float]) -> tuple[Floats, list[float]]:
    """Return predictions of the training and held-out samples for every ridge, and one certificate per ridge.

    Parameters
    ----------
    target
        Labels of the training samples, (n, outputs).

    Returns
    -------
    predictions
        (n + q, outputs, number of ridges); NaN if the residual is above `MAX_RESIDUAL`, as in `ridge`.
    certificates
        Residuals of the normal equations, relative to their right-hand side `Z'y`.

    Raises
    ------
    NotSolvedError
        If there are no predictions for any ridge.
    """
    require_finite("the kernel", kernel.train, kernel.held_out)
    coefficients, certificates = fit_column_ridge(kernel.train, target, ridges)
    means, rows = target.mean(axis=0), (kernel.train, kernel.held_out)
    predictions = np.empty((sum(map(len, rows)), target.shape[1], len(ridges)))
    for number in range(len(ridges)):
        found = np.ascontiguousarray(coefficients[:, :, number])
        predictions[:, :, number] = np.concatenate([part @ found + means for part in rows])
    predictions[:, :, uncertified_ridges(np.array(certificates))] = np.nan
    return predictions, certificates


def fit_column_ridge(columns: Floats, target: Floats, ridges: Sequence[float]) -> tuple[Floats, list[float]]:
    """Return the coefficients of the columns for every ridge, (r, outputs, number of ridges), and their certificates.

    The predictions are the products of columns and coefficients, plus the means of the target.

    Parameters
    ----------
    columns
        Columns Z of the training samples, (n, r).
    target, ridges
        As for `column_ridge_path`.
    """
    means = target.mean(axis=0)
    deviations = target - means
    left, values, right = scipy.linalg.svd(columns, full_matrices=False, check_finite=False)
    projected = left.T @ deviations
    solutions = np.empty((columns.shape[1], target.shape[1], len(ridges)))
    right_hand_side = columns.T @ deviations
    scale = float(np.linalg.norm(right_hand_side))
    certificates = []
    for number, ridge in enumerate(ridges):
        factors = values / (values**2 + ridge)
        solutions[:, :, number] = coefficients = right.T @ (factors[:, None] * projected)
        residual = right_hand_side - columns.T @ (columns @ coefficients) - ridge * coefficients
        certificates.append(float(np.linalg.norm(residual)) / scale if scale else 0.0)
    return solutions, certificates
