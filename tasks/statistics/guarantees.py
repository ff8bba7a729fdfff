"""The right-hand sides of the paper's theorems about a kernel, evaluated on the training set.

What each of them is:

- Theorem 12 bounds how far the alignment on a sample is from that of the distribution, with probability 0.95, for a
  kernel that was fixed before the sample was drawn: a base kernel. For a kernel that was learned on the same sample it
  is only an evaluation of the formula.
- Theorems 13 and 14 are statements about the distribution, without a probability: they hold where the sample is the
  distribution. Evaluated with the alignment on a sample, they are estimates, and the error may exceed them.
- Theorem 17 bounds the error of two-stage kernel ridge regression with probability 0.95, for labels and kernel values
  that are bounded everywhere as they are on the training set.

Expectations and suprema are taken over the training set in all of them. They hold for all distributions and are loose.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.metrics import misclassification, rmse
from kernel_pipeline.tasks.statistics.alignment import alignment_predictor

CONFIDENCE = 0.95


def theorem12(samples: int, ratio: float, delta: float = 1 - CONFIDENCE) -> float:
    """Bound the distance of a fixed kernel's alignment from that of the distribution, with probability 1 - delta.

    Parameters
    ----------
    ratio
        `beta = max(R^4 / E[K_c^2], R'^4 / E[K'_c^2])`, where `R^2` and `R'^2` bound `K(x, x)` and `K'(x, x)`: that of
        the theorem once both kernels are scaled to R = R' = 1, which changes no alignment.
    """
    return 18 * ratio * (3 / samples + 8 * math.sqrt(math.log(6 / delta) / (2 * samples)))


def theorem12_of_kernels(squared_norms: Floats, largest: Floats, labels: Floats) -> Floats:
    """Evaluate Theorem 12 for each base kernel and the labels; NaN for a constant kernel or constant labels.

    Parameters
    ----------
    squared_norms, largest
        (p,): `||K_c||_F^2` and a bound on `K(x, x)`.
    """
    n = len(labels)
    of_labels = _label_ratio(labels)
    of_kernels = np.divide(
        largest**2, squared_norms / n**2, out=np.full_like(squared_norms, np.nan), where=squared_norms > 0
    )
    return np.asarray(theorem12(n, 1.0) * np.maximum(of_kernels, of_labels))


def _label_ratio(labels: Floats) -> float:
    """Return `R'^4 / E[K'_c^2]` of the kernel `y y'` of centered labels; NaN for constant labels."""
    squares = (labels - labels.mean()) ** 2
    return float(squares.max() / squares.mean()) ** 2 if squares.any() else math.nan


def theorem17(
    empirical: float,
    samples: int,
    ridge: float,
    largest_label: float,
    largest_kernel: float,
    delta: float = 1 - CONFIDENCE,
) -> float:
    """Bound the error (RMSE) of two-stage kernel ridge regression, with probability 1 - delta.

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
class Evaluations:
    """The theorems, evaluated for one learned kernel; errors are in the metric of the problem."""

    theorem12: float
    predictor_error: float
    """Error of the alignment predictor on the test fold; measured, not evaluated."""
    theorem13: float | None = None
    """`1 - rho / Gamma` (classification), with the Gamma of the theorem's footnote, which needs no centered labels."""
    theorem14: float | None = None
    """The root of `2 (1 - rho)` times the standard deviation of the labels (regression)."""


def evaluate_theorems(task: str, kernel: Floats, target: Floats, train: Integers, test: Integers) -> Evaluations:
    """Evaluate the theorems for a kernel of all samples against the training samples, (m, n), centered on these."""
    matrix, labels = kernel[train], target[train]
    mean, deviation = float(labels.mean()), float(labels.std())
    mean_square = float(np.mean(matrix**2))
    rho = float(np.mean((labels - mean) / deviation * alignment_predictor(matrix, matrix, labels)))
    ratio = max(float(np.diag(matrix).max()) ** 2 / mean_square, _label_ratio(labels))
    predicted = alignment_predictor(matrix, kernel[test], labels)
    fixed = theorem12(len(train), ratio)
    if task == "classification":
        # of labels -1 and +1 as they are: scaled to variance one, the rarer class would have labels above 1
        gamma = math.sqrt(float(np.mean(matrix**2, axis=1).max()) / mean_square) / deviation**2
        error = misclassification(predicted[:, None], target[test])
        return Evaluations(fixed, float(error[0]), theorem13=1 - rho / gamma)
    error = rmse((mean + deviation * predicted)[:, None], target[test])
    return Evaluations(fixed, float(error[0]), theorem14=deviation * math.sqrt(max(2 * (1 - rho), 0.0)))
