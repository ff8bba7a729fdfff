"""Provide the statistics of rank-one kernels to the rules for weights.

The p x p matrix M is formed only for the rules that need all of it, or if there are fewer kernels than samples.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.labels import center_labels, label_norm
from kernel_pipeline.tasks.statistics.debiased import debiased_alignments, label_diagonal
from kernel_pipeline.tasks.statistics.guarantees import theorem12_of_kernels
from kernel_pipeline.tasks.weights.bounded_qp import bounded_qp
from kernel_pipeline.tasks.weights.column_generation import solve_by_columns
from kernel_pipeline.tasks.weights.linear_system import minimum_norm_solution


@dataclass(frozen=True)
class RankOneStatistics:
    """Implementation of `KernelStatistics` for rank-one kernels."""

    kernels: RankOneKernels
    centered_labels: Floats
    """Centered labels Yc of the training set, (n, columns)."""

    @property
    def label_norm(self) -> float:
        """Return `||Yc Yc'||_F`."""
        return label_norm(self.centered_labels)

    @property
    def varies(self) -> Booleans:
        """Return which kernels are not constant, (p,)."""
        return self.kernels.varies

    def own_alignments(self) -> Floats:
        """Return the alignments `a_k / ||Yc Yc'||`, since each kernel has norm one; NaN if not defined."""
        defined = self.varies & (self.label_norm > 0)
        products = self.label_products()
        return np.divide(products, self.label_norm, out=np.full_like(products, np.nan), where=defined)

    def label_products(self) -> Floats:
        """Return `a_k`, the sum of `(v_k . yc)^2` over the columns `yc` of the labels."""
        return self._products(self.kernels)

    def nonnegative_solution(self) -> tuple[Floats, float]:
        """Solve by column generation over distinct columns."""
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        pricing = kernels.multiplication_by_m()
        v, residual = solve_by_columns(self._products(kernels), lambda chosen: kernels.only(chosen).products(), pricing)
        return np.where(self.varies, distinct.shared(v), 0.0), residual

    def ridge_solution(self, ridge: float) -> tuple[Floats, float]:
        """Solve by column generation over distinct columns; all kernels have norm one, so the ridge is not scaled.

        The weight of equal columns is shared equally, so that the ridge of a group of them is divided by its size.
        """
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        pricing, added = kernels.multiplication_by_m(), ridge / np.bincount(distinct.group)
        v, residual = solve_by_columns(
            self._products(kernels),
            lambda chosen: kernels.only(chosen).products() + np.diag(added[chosen]),
            lambda weights: pricing(weights) + added * weights,
        )
        return np.where(self.varies, distinct.shared(v), 0.0), residual

    def bounded_solution(self, upper: float) -> tuple[Floats, float]:
        """Solve with M of the distinct columns; equal columns share a weight equally, so their bounds are added."""
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        sizes = np.bincount(distinct.group).astype(np.float64)
        v, residual = bounded_qp(kernels.products(), self._products(kernels), upper * sizes)
        return np.where(self.varies, distinct.shared(v), 0.0), residual

    def unconstrained_solution(self) -> tuple[Floats, float]:
        """Solve with M of the distinct columns; equal columns share a weight equally, which minimises the norm."""
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        v, residual = minimum_norm_solution(kernels.products(), self._products(kernels))
        return np.where(self.varies, distinct.shared(v), 0.0), residual

    def _products(self, kernels: RankOneKernels) -> Floats:
        """Return `<K_k, Yc Yc'>` of some kernels."""
        forms = [kernels.images(column).forms for column in np.ascontiguousarray(self.centered_labels.T)]
        return np.asarray(np.sum(forms, axis=0))


def rank_one_statistics(
    columns: scipy.sparse.csr_array, offset: Floats, target: Floats, train: Integers, test: Integers
) -> dict[str, Floats]:
    """Compute the statistics that a run stores: the same as for Gram families, except for the p x p matrices.

    Parameters
    ----------
    columns, offset
        The columns of all samples, (m, p), and the constants that were subtracted from them, (p,), which affect only
        the uncentered alignment.
    target
        Block of labels of all samples, (m, number of label columns).
    train, test
        Indices of the training and of the test samples.

    Returns
    -------
    dict
        The arrays by name.
    """
    training, testing = RankOneKernels.of(columns[train]), RankOneKernels.of(columns[test])
    labels, test_labels = target[train], target[test]
    statistics = RankOneStatistics(training, center_labels(labels))
    test_statistics = RankOneStatistics(testing, center_labels(test_labels))
    return {
        "a": statistics.label_products(),
        "trace": training.trace,
        "label_norms": np.array([statistics.label_norm, test_statistics.label_norm]),
        "alignment": statistics.own_alignments(),
        "alignment_test": test_statistics.own_alignments(),
        "uncentered": _uncentered_alignments(columns[train], offset, labels),
        "direction": _directions(statistics),
        "unnormalised": statistics.label_products() / len(labels) ** 2,
        "alignment_debiased": _debiased_alignments(statistics),
        "alignment_test_debiased": _debiased_alignments(test_statistics),
        "theorem12": theorem12_of_kernels(training.varies.astype(np.float64), training.largest_diagonals(), labels),
    }


def _debiased_alignments(statistics: RankOneStatistics) -> Floats:
    """Return the debiased alignments of kernels of norm and trace one."""
    label_squares = label_diagonal(statistics.centered_labels)
    found = debiased_alignments(
        products=statistics.label_products(),
        squares=statistics.varies.astype(np.float64),
        diagonal_products=statistics.kernels.diagonal_products(label_squares),
        label_squares=label_squares,
        traces=1.0,
        squared_label_norm=statistics.label_norm**2,
    )
    return np.where(statistics.varies, found, np.nan)


def _directions(statistics: RankOneStatistics) -> Floats:
    """Return the sign of `v_k . yc`; NaN if there are several columns of labels."""
    labels = statistics.centered_labels
    if labels.shape[1] > 1:
        return np.full(len(statistics.varies), np.nan)
    return np.sign(statistics.kernels.projections(np.ascontiguousarray(labels[:, 0])))


def _uncentered_alignments(columns: scipy.sparse.csr_array, offset: Floats, labels: Floats) -> Floats:
    """Return `sum_y (v . y)^2 / (||v||^2 ||Y Y'||)` of the original columns, where y are the columns of the labels."""
    n, sums = columns.shape[0], np.asarray(columns.sum(axis=0))
    products = np.sum([(columns.T @ y + offset * y.sum()) ** 2 for y in np.ascontiguousarray(labels.T)], axis=0)
    squares = np.asarray(columns.multiply(columns).sum(axis=0)) + 2 * offset * sums + n * offset**2
    norms = squares * label_norm(labels)
    return np.asarray(np.divide(products, norms, out=np.full_like(norms, np.nan), where=norms > 0))
