"""Compute alignment statistics of base kernels, weights from these statistics, and alignments of kernel matrices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import check_X_y

from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.estimators.input_errors import explained_input
from kernel_pipeline.estimators.kernel_list import parse_families
from kernel_pipeline.estimators.learned_kernel import KernelData, kernel_statistics
from kernel_pipeline.estimators.similarity import pairwise_alignments
from kernel_pipeline.estimators.targets import labels_of_task
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import check_families, kernel_names
from kernel_pipeline.tasks.statistics.statistics import Statistics
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from kernel_pipeline.tasks.weights.align import Align
from kernel_pipeline.tasks.weights.alignf import Alignf
from kernel_pipeline.tasks.weights.gram_statistics import GramStatistics


@dataclass(frozen=True)
class AlignmentStatistics:
    """Alignment statistics of base kernels that are scaled to trace one."""

    M: pd.DataFrame
    """Inner products of the centered kernels."""
    a: pd.Series
    """Inner products of the centered kernels with `Y Y'` of the labels."""
    trace: pd.Series
    """Traces of the centered kernels before scaling; 0 for a constant kernel."""
    alignment: pd.Series
    """Centered alignment of each kernel with the labels (Definition 4); NaN if it is not defined."""


def alignment_statistics(
    X: Any, y: Any, kernels: Sequence[Mapping[str, Any]] | None = None, *, task: str = "auto"
) -> AlignmentStatistics:
    """Compute `M`, `a` and the alignments of base kernels, block by block, without storing Gram matrices.

    Parameters
    ----------
    X, y
        Samples and target. The columns of a DataFrame are available to `kernels` by name.
    kernels
        Families of base kernels, as in a config. By default, seven Gaussian kernels whose gammas are powers of two
        around that of the median heuristic.
    task
        "classification" or "regression"; with "auto", text and whole numbers (also as floats) in one column
        are classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = alignment_statistics(X, y, [{"family": "linear"}, {"family": "gaussian", "log2_gamma": [-2, -2]}])
    >>> found.alignment.round(3).to_dict()
    {'linear': 0.663, 'gaussian(2^-2)': 0.794}
    """
    names = [str(name) for name in getattr(X, "columns", [])]
    with explained_input(X):
        features, y = check_X_y(X, y, dtype=np.float64, multi_output=True, ensure_min_samples=2)
    names = names or [f"x{place}" for place in range(features.shape[1])]
    columns = FeatureColumns.of(names, names, range(len(names)))
    families, data = parse_families(kernels, columns, features, {}), KernelData(features, np.arange(len(features)))
    check_families(families, data.samples(), columns.names)
    found = kernel_statistics(families, data, labels_of_task(y, task))
    scaled, index = found.scaled(found.trace), pd.Index(kernel_names(families), name="kernel")
    return AlignmentStatistics(
        M=pd.DataFrame(scaled.M, index=index, columns=index),
        a=pd.Series(scaled.a, index=index, name="a"),
        trace=pd.Series(found.trace, index=index, name="trace"),
        alignment=pd.Series(found.own_alignments(), index=index, name="alignment"),
    )


def alignf(M: Any, a: Any) -> tuple[Floats, float]:
    """Return the nonnegative weights that maximise the alignment, and their certificate.

    The weights solve `min_{v >= 0} v'Mv - 2 v'a` (Proposition 9) and are scaled to sum to one; the certificate is the
    KKT residual of v relative to max|a|.

    Parameters
    ----------
    M, a
        Inner products of the centered kernels with each other, (p, p), and with the labels, (p,).

    Raises
    ------
    NoResultError
        A subclass of `ValueError`, if no kernel is aligned with the labels, or the residual is too large.

    Examples
    --------
    >>> weights, certificate = alignf([[1.0, 0.5], [0.5, 1.0]], [0.8, 0.2])
    >>> weights.tolist(), certificate < 1e-12
    ([1.0, 0.0], True)
    """
    return Alignf().weights(_gram_statistics(M, a))


def align(M: Any, a: Any, q: float | None = None) -> tuple[Floats, float]:
    """Return weights proportional to the alignments of the kernels (equation 3), and the certificate, which is 0.

    Parameters
    ----------
    M, a
        As for `alignf`; only the diagonal of M is used.
    q
        Exponent of the L_q norm of problem 4, at least 1. If given, the solution of this problem (Proposition 7) is
        returned instead.

    Examples
    --------
    >>> align([[4.0, 0.5], [0.5, 1.0]], [2.0, 3.0])[0].tolist()
    [0.25, 0.75]
    """
    if q is not None and not q >= 1:
        raise ValueError(f"q: must be at least 1, or None; got {q!r}")
    return Align(q=q).weights(_gram_statistics(M, a))


def centered_alignment(K: Any, L: Any, debiased: bool = False) -> float:
    """Return the centered alignment of two kernel matrices (Definition 4), also known as CKA.

    Parameters
    ----------
    K, L
        Symmetric matrices, (n, n).
    debiased
        Whether to use unbiased estimates of the inner products (Song et al. 2012), which are around 0 for independent
        kernels even if n is small; NaN if n < 4.

    Returns
    -------
    float
        NaN if it is not defined, because a kernel is constant or an estimate of a squared norm is not positive.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [4.0]])
    >>> round(centered_alignment(x @ x.T, np.exp(-((x - x.T) ** 2))), 3)
    0.694
    """
    pair = [np.asarray(matrix, dtype=np.float64) for matrix in (K, L)]
    n = len(pair[0])
    for name, matrix in zip("KL", pair, strict=True):
        if matrix.shape != (n, n) or not np.isfinite(matrix).all() or not np.allclose(matrix, matrix.T, atol=0):
            raise ValueError(
                f"{name}: must be a finite, symmetric matrix, and K and L must have the same shape; got {matrix.shape}"
            )

    def fill(rows: slice, columns: slice, out: Floats) -> None:
        for block, matrix in zip(out, pair, strict=True):
            block[...] = matrix[rows, columns]

    sums = Sums.zeros(1, 2, 0, n)
    add_tile(sums, fill, np.empty((n, 0)), np.array([0, n]), (slice(0, n), slice(0, n)))
    return float(pairwise_alignments(sums, debiased)[0, 1])


def _gram_statistics(M: Any, a: Any) -> GramStatistics:
    """Validate inner products, and return them as the statistics from which a method computes weights."""
    products, with_labels = np.asarray(M, dtype=np.float64), np.asarray(a, dtype=np.float64)
    p = len(with_labels) if with_labels.ndim == 1 else 0
    if not p or products.shape != (p, p) or not np.allclose(products, products.T):
        raise ValueError(
            "M must be a symmetric matrix of shape (p, p) and a must be a vector of shape (p,); got "
            f"{products.shape} and {with_labels.shape}"
        )
    return GramStatistics(Statistics(products, with_labels, (np.diag(products) > 0).astype(np.float64), 1.0))
