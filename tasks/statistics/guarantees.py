"""Evaluate the right-hand sides of the paper's theorems for a kernel on the training set.

The values have different meanings:

- Theorem 12 bounds the difference between the empirical alignment and that of the distribution, with probability 0.95,
  for a kernel that does not depend on the training set, such as a base kernel. For a kernel that was learned on the
  training set, the value is only an evaluation of the formula.
- Theorems 13, 14 and 15 are statements about the distribution and involve no probability. Evaluated with the empirical
  alignment, they are estimates, which the error may exceed.
- Theorem 16 bounds how much the predictions of two-stage kernel ridge regression change if one training sample is
  replaced, provided that the bounds on labels and kernel values on the training set hold everywhere.
- Theorem 17 bounds the error of two-stage kernel ridge regression with probability 0.95, provided that the bounds on
  labels and kernel values on the training set hold everywhere.

All expectations and suprema are computed over the training set. The bounds hold for all distributions and are loose.
Proposition 21 is not evaluated: it compares the weights of `alignf` on two training sets that differ in one sample, and
a run has no such pair.
"""

import math
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.metrics import misclassification, rmse
from kernel_pipeline.tasks.statistics.alignment import alignment_predictor

CONFIDENCE = 0.95


def theorem12(samples: int, ratio: float, delta: float = 1 - CONFIDENCE) -> float:
    """Bound the error of the empirical alignment of a fixed kernel, with probability 1 - delta.

    Parameters
    ----------
    samples
        Number of training samples.
    ratio
        `beta = max(R^4 / E[K_c^2], R'^4 / E[K'_c^2])`, where `R^2` and `R'^2` bound `K(x, x)` and `K'(x, x)`. This is
        the theorem's value after scaling both kernels to R = R' = 1, which does not change alignments.
    """
    return 18 * ratio * (3 / samples + 8 * math.sqrt(math.log(6 / delta) / (2 * samples)))


def theorem12_of_kernels(squared_norms: Floats, largest: Floats, labels: Floats) -> Floats:
    """Evaluate Theorem 12 for each base kernel and the labels; NaN for a constant kernel or constant labels.

    Parameters
    ----------
    squared_norms, largest
        (p,): `||K_c||_F^2` and a bound on `K(x, x)`.
    labels
        (n, number of columns); the values are NaN for more than one column.
    """
    n = len(labels)
    label_ratio = _label_ratio(labels[:, 0]) if labels.shape[1] == 1 else math.nan
    kernel_ratios = np.divide(
        largest**2, squared_norms / n**2, out=np.full_like(squared_norms, np.nan), where=squared_norms > 0
    )
    return np.asarray(theorem12(n, 1.0) * np.maximum(kernel_ratios, label_ratio))


def _label_ratio(labels: Floats) -> float:
    """Return `R'^4 / E[K'_c^2]` of the kernel `y y'` of centered labels; NaN for constant labels."""
    squares = (labels - labels.mean()) ** 2
    return float(squares.max() / squares.mean()) ** 2 if squares.any() else math.nan


def theorem16(samples: int, ridge: float, largest_label: float, largest_kernel: float) -> float:
    """Bound the change of a prediction of two-stage kernel ridge regression if one training sample is replaced.

    The parameters are those of `theorem17`, which follows from this theorem.
    """
    lambda0 = ridge / samples
    return 2 * largest_kernel / (lambda0 * samples) * (1 + 1 / lambda0) * largest_label


def theorem17(
    empirical: float,
    samples: int,
    ridge: float,
    largest_label: float,
    largest_kernel: float,
    delta: float = 1 - CONFIDENCE,
) -> float:
    """Bound the error (RMSE) of two-stage kernel ridge regression, with probability 1 - delta.

    The bound holds for weights that sum to one (`Lambda_1` = 1) and kernels of trace one, for which `||D mu|| ||K_c||`
    is at most 2. The formula is that of the paper; the theorem on which it is based implies `M_1^2 / 4` instead of
    `M_1 M_2 / 4`.

    Parameters
    ----------
    empirical
        Error on the training set (RMSE).
    samples
        Number of training samples.
    ridge
        `lambda = m lambda_0`, which is added to the diagonal of the kernel matrix.
    largest_label, largest_kernel
        `M`, a bound on the labels, and `R^2`, a bound on `K_k(x, x)` of all base kernels.
    """
    lambda0 = ridge / samples
    m1 = 2 * (1 + math.sqrt(largest_kernel / lambda0)) * largest_label
    m2 = samples * theorem16(samples, ridge, largest_label, largest_kernel)
    spread = math.sqrt(math.log(1 / delta) / (2 * samples))
    return math.sqrt(empirical**2 + 2 * m1 * m2 / samples + (1 + 16 * m2 / m1) * m1 * m2 / 4 * spread)


@dataclass(frozen=True)
class Evaluations:
    """Theorems evaluated for one learned kernel; errors are in the metric of the problem."""

    theorem12: float
    predictor_error: float
    """Measured error of the alignment predictor on the test fold."""
    theorem13: float | None = None
    """`1 - rho / Gamma` (classification), with Gamma as in the paper's footnote on labels that are not centered."""
    theorem14: float | None = None
    """`sqrt(2 (1 - rho))` times the standard deviation of the labels (regression)."""
    theorem15: float | None = None
    """`1 - rho_u / R^2` (classification), with the unnormalised alignment.

    The predictor of this theorem has the same signs as that of Theorem 13, so `predictor_error` is the error of both.
    """


@dataclass(frozen=True)
class KernelMoments:
    """Moments and predictions of a kernel, centered on the training samples, from which the theorems are evaluated."""

    mean_square: float
    """Mean of `K(x, x')^2` over all pairs of training samples."""
    largest_row_mean_square: float
    """Largest mean of `K(x, x')^2` over x', of all training samples x."""
    largest_diagonal: float
    """Largest `K(x, x)` of the training samples."""
    fitted: Floats
    """Predictions of `h_S` for the training samples, (n,); see `alignment_predictor`."""
    predicted: Floats
    """Predictions of `h_S` for the test samples, (q,)."""

    @classmethod
    def of(cls, train: Floats, others: Floats, labels: Floats) -> "KernelMoments":
        """Compute the moments of a dense kernel, without copying it.

        Parameters
        ----------
        train, others
            (n, n) and (q, n): the centered kernel of the training samples, and of the test samples against them.
        labels
            Labels of the training samples, (n,).
        """
        row_mean_squares, norm = np.einsum("ij,ij->i", train, train) / len(train), float(np.linalg.norm(train))
        return cls(
            mean_square=float(row_mean_squares.mean()),
            largest_row_mean_square=float(row_mean_squares.max()),
            largest_diagonal=float(np.diag(train).max()),
            fitted=alignment_predictor(norm, train, labels),
            predicted=alignment_predictor(norm, others, labels),
        )

    @classmethod
    def of_rows(cls, squares: Floats, diagonal: Floats, images: Floats) -> "KernelMoments":
        """Return the moments of a kernel that is not in memory, without predictions for test samples.

        Parameters
        ----------
        squares, diagonal
            Sum of the squares of each row, and the diagonal, of the centered kernel of the training samples, (n,).
        images
            Products of this kernel with the labels, scaled by `standardize_labels`, (n,).
        """
        samples = len(squares)
        return cls(
            mean_square=float(squares.mean()) / samples,
            largest_row_mean_square=float(squares.max()) / samples,
            largest_diagonal=float(diagonal.max()),
            fitted=images / math.sqrt(float(squares.sum())),
            predicted=np.empty(0),
        )

    @property
    def norm(self) -> float:
        """Return the Frobenius norm of the kernel of the training samples."""
        return len(self.fitted) * math.sqrt(self.mean_square)


def evaluate_theorems(problem: str, moments: KernelMoments, labels: Floats, test_labels: Floats) -> Evaluations:
    """Evaluate the theorems for a kernel.

    Parameters
    ----------
    problem
        "regression" or "classification".
    moments
        Moments and predictions of the kernel.
    labels, test_labels
        Labels of the training samples, (n,), and of the test samples, (q,).
    """
    mean, deviation = float(labels.mean()), float(labels.std())
    rho = float(np.mean((labels - mean) / deviation * moments.fitted))
    concentration = theorem12(len(labels), max(moments.largest_diagonal**2 / moments.mean_square, _label_ratio(labels)))
    if problem == "classification":
        # The labels -1 and +1 are not scaled to variance one, since those of the rarer class would then exceed 1.
        gamma = math.sqrt(moments.largest_row_mean_square / moments.mean_square) / deviation**2
        error = misclassification(moments.predicted[:, None, None], test_labels[:, None])
        unnormalised = rho * deviation**2 * math.sqrt(moments.mean_square)
        return Evaluations(
            concentration,
            float(error[0]),
            theorem13=1 - rho / gamma,
            theorem15=1 - unnormalised / moments.largest_diagonal,
        )
    error = rmse((mean + deviation * moments.predicted)[:, None, None], test_labels[:, None])
    return Evaluations(concentration, float(error[0]), theorem14=deviation * math.sqrt(max(2 * (1 - rho), 0.0)))
