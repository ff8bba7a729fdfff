"""What the paper's theorems promise of a learned kernel, with expectations taken over the training set.

They hold for all distributions, and are far from tight: below one of them is news.
"""

import math
from dataclasses import dataclass

import numpy as np

from tasks.alignment import alignment_predictor
from tasks.arrays import Floats, Integers
from tasks.paths import misclassification, rmse

CONFIDENCE = 0.95


def concentration_bound(samples: int, ratio: float, delta: float = 1 - CONFIDENCE) -> float:
    """Theorem 12: how far the alignment of a sample may be from that of its distribution, with probability 1 - delta.

    Parameters
    ----------
    ratio
        `beta = max(R^4 / E[K_c^2], R'^4 / E[K'_c^2])`, where `R^2` and `R'^2` bound `K(x, x)` and `K'(x, x)`: that of
        the theorem once both kernels are scaled to R = R' = 1, which changes no alignment.
    """
    return 18 * ratio * (3 / samples + 8 * math.sqrt(math.log(6 / delta) / (2 * samples)))


def alignment_bounds(squared_norms: Floats, largest: Floats, labels: Floats) -> Floats:
    """`concentration_bound` of each base kernel with the labels; infinite for a constant kernel or constant labels.

    Parameters
    ----------
    squared_norms, largest
        (p,): `||K_c||_F^2` and a bound on `K(x, x)`.
    """
    n = len(labels)
    of_labels = _label_ratio(labels)
    of_kernels = np.divide(
        largest**2, squared_norms / n**2, out=np.full_like(squared_norms, np.inf), where=squared_norms > 0
    )
    return np.asarray(concentration_bound(n, 1.0) * np.maximum(of_kernels, of_labels))


def _label_ratio(labels: Floats) -> float:
    """`R'^4 / E[K'_c^2]` of the kernel `y y'` of centered labels; infinite for constant ones."""
    squares = (labels - labels.mean()) ** 2
    return float(squares.max() / squares.mean()) ** 2 if squares.any() else math.inf


def generalisation_bound(
    empirical: float,
    samples: int,
    ridge: float,
    largest_label: float,
    largest_kernel: float,
    delta: float = 1 - CONFIDENCE,
) -> float:
    """Theorem 17: the error (RMSE) of two-stage kernel ridge regression, with probability 1 - delta.

    For weights that sum to one (`Lambda_1` = 1) and kernels of trace one, for which `||D mu|| ||K_c||` is at most 2. As
    the paper states it; from the theorem that it rests on, `M_1^2 / 4` would follow where it has `M_1 M_2 / 4`.

    Parameters
    ----------
    empirical
        The error on the training set, an RMSE too.
    ridge
        `lambda = m lambda_0`, what is added to the diagonal of the kernel matrix.
    largest_label, largest_kernel
        `M` bounds the labels, `R^2` bounds `K_k(x, x)` of all base kernels.
    """
    lambda0 = ridge / samples
    m1 = 2 * (1 + math.sqrt(largest_kernel / lambda0)) * largest_label
    m2 = 2 * largest_kernel / lambda0 * (1 + 1 / lambda0) * largest_label
    spread = math.sqrt(math.log(1 / delta) / (2 * samples))
    return math.sqrt(empirical**2 + 2 * m1 * m2 / samples + (1 + 16 * m2 / m1) * m1 * m2 / 4 * spread)


@dataclass(frozen=True)
class Guarantees:
    """Of one learned kernel."""

    alignment_bound: float
    """How far its alignment on the training set may be from the true one (Theorem 12)."""
    predictor_bound: float
    """On the error of the alignment predictor: `1 - rho / Gamma` (Theorem 13, with the Gamma of its footnote, which
    asks for no centered labels), or the root of `2 (1 - rho)` times the labels' variance (Theorem 14)."""
    predictor_error: float
    """Of the alignment predictor on the test fold; both are in the task's own measure, as errors are."""


def guarantees(task: str, kernel: Floats, target: Floats, train: Integers, test: Integers) -> Guarantees:
    """Evaluate the theorems for a kernel of all samples against the training samples, (m, n), centered on these."""
    matrix, labels = kernel[train], target[train]
    mean, deviation = float(labels.mean()), float(labels.std())
    mean_square = float(np.mean(matrix**2))
    rho = float(np.mean((labels - mean) / deviation * alignment_predictor(matrix, matrix, labels)))
    ratio = max(float(np.diag(matrix).max()) ** 2 / mean_square, _label_ratio(labels))
    # of labels -1 and +1 as they are: scaled to variance one, the rarer class would have labels above 1
    gamma = math.sqrt(float(np.mean(matrix**2, axis=1).max()) / mean_square) / deviation**2
    predicted = alignment_predictor(matrix, kernel[test], labels)
    if task == "classification":
        bound, error = 1 - rho / gamma, misclassification(predicted[:, None], target[test])
    else:
        bound = deviation * math.sqrt(max(2 * (1 - rho), 0.0))
        error = rmse((mean + deviation * predicted)[:, None], target[test])
    return Guarantees(concentration_bound(len(train), ratio), bound, float(error[0]))
