"""Evidence for the rules from rank-one kernels, without a p x p matrix."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.statistics.guarantees import theorem12_of_kernels
from kernel_pipeline.tasks.weights.column_generation import solve_by_columns
from kernel_pipeline.tasks.weights.linear_system import minimum_norm_solution


@dataclass(frozen=True)
class RankOneEvidence:
    """Rank-one kernels on a training set, as `Evidence`."""

    kernels: RankOneKernels
    centered_labels: Floats
    """(n,)"""

    @property
    def label_norm(self) -> float:
        """`||yc yc'||_F`."""
        return float(self.centered_labels @ self.centered_labels)

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""
        return self.kernels.varies

    def own_alignments(self) -> Floats:
        """Return `a_k / ||yc yc'||`, since each kernel has norm one; NaN where it is not defined."""
        defined = self.varies & (self.label_norm > 0)
        products = self.label_products()
        return np.divide(products, self.label_norm, out=np.full_like(products, np.nan), where=defined)

    def label_products(self) -> Floats:
        """Return `a_k = (v_k . yc)^2`."""
        return self.kernels.images(self.centered_labels).forms

    def largest_alignment(self) -> tuple[Floats, float]:
        """Solve by column generation over distinct columns."""
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        v, residual = solve_by_columns(
            kernels.images(self.centered_labels).forms,
            lambda chosen: kernels.only(chosen).products(),
            lambda weights: kernels.quadratic_forms(kernels.combined(weights)),
        )
        return np.where(self.varies, distinct.shared(v), 0.0), residual

    def unconstrained_alignment(self) -> tuple[Floats, float]:
        """Solve with M of the distinct columns; equal columns share a weight equally, which has least norm."""
        distinct = self.kernels.distinct()
        kernels = self.kernels.only(distinct.chosen)
        v, residual = minimum_norm_solution(kernels.products(), kernels.images(self.centered_labels).forms)
        return np.where(self.varies, distinct.shared(v), 0.0), residual


def rank_one_statistics(
    columns: scipy.sparse.csr_array, offset: Floats, target: Floats, train: Integers, test: Integers
) -> dict[str, Floats]:
    """Compute the stored statistics of every kernel: those of Gram families, except for p x p matrices.

    Parameters
    ----------
    columns, offset
        (m, p) and (p,): the columns of all samples, and what was subtracted from each; it affects only uncentered
        alignment.
    """
    training, testing = RankOneKernels.of(columns[train]), RankOneKernels.of(columns[test])
    labels, test_labels = target[train], target[test]
    evidence = RankOneEvidence(training, labels - labels.mean())
    test_evidence = RankOneEvidence(testing, test_labels - test_labels.mean())
    return {
        "a": evidence.label_products(),
        "trace": training.trace,
        "label_norms": np.array([evidence.label_norm, test_evidence.label_norm]),
        "alignment": evidence.own_alignments(),
        "alignment_test": test_evidence.own_alignments(),
        "uncentered": _uncentered_alignments(columns[train], offset, labels),
        "unnormalised": evidence.label_products() / len(labels) ** 2,
        "theorem12": theorem12_of_kernels(training.varies.astype(np.float64), training.largest_diagonals(), labels),
    }


def _uncentered_alignments(columns: scipy.sparse.csr_array, offset: Floats, labels: Floats) -> Floats:
    """Return `(v . y)^2 / (||v||^2 ||y||^2)` of the original columns."""
    n, sums = columns.shape[0], np.asarray(columns.sum(axis=0))
    products = (columns.T @ labels + offset * labels.sum()) ** 2
    squares = np.asarray(columns.multiply(columns).sum(axis=0)) + 2 * offset * sums + n * offset**2
    norms = squares * float(labels @ labels)
    return np.asarray(np.divide(products, norms, out=np.full_like(norms, np.nan), where=norms > 0))
