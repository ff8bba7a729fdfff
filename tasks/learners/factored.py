"""Compute with a combined kernel of few columns, `K = Z diag(signs) Z'`, without forming it.

For rank-one kernels with weights `mu`, Z holds the columns `sqrt(|mu_k|) v_k`. All sums over pairs of samples follow
from the small matrix `Z'Z`; for example, `||Z Z'||_F = ||Z'Z||_F`.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from kernel_pipeline.tasks.labels import center_labels, standardize_labels
from kernel_pipeline.tasks.statistics.alignment import CONSTANT_NORM_TOLERANCE
from kernel_pipeline.tasks.statistics.debiased import UNDEFINED, Estimates, alignment_estimates
from kernel_pipeline.tasks.statistics.guarantees import KernelMoments


@dataclass(frozen=True)
class FactoredKernel:
    """A positive semi-definite kernel, centered with the means of the training samples."""

    train: Floats
    """(n, r): the kernel of the training samples is `train @ train.T`."""
    held_out: Floats
    """(q, r): the kernel of held-out against training samples is `held_out @ train.T`."""

    def moments(self, labels: Floats, others: slice) -> KernelMoments:
        """Return the moments for the bounds of the paper's theorems.

        Parameters
        ----------
        labels
            Labels of the training samples, (n,).
        others
            Part of the held-out samples for which predictions are computed.
        """
        n, products = len(labels), self.train.T @ self.train
        norm = float(np.linalg.norm(products))
        coefficients = self.train.T @ standardize_labels(labels) / norm
        return KernelMoments(
            mean_square=(norm / n) ** 2,
            largest_row_mean_square=float(_row_products(self.train @ products, self.train).max()) / n,
            largest_diagonal=float(_row_products(self.train, self.train).max()),
            fitted=self.train @ coefficients,
            predicted=self.held_out[others] @ coefficients,
        )


@dataclass(frozen=True)
class WeightedColumns:
    """Rank-one kernels combined with weights of any sign, `Z diag(signs) Z'`."""

    train: Floats
    """(n, r): weighted columns Z of the training samples, centered with their means."""
    held_out: Floats
    """(q, r): those of the held-out samples, centered with the same means."""
    signs: Floats
    """(r,): signs of the weights."""

    @classmethod
    def of(cls, kernels: RankOneKernels, weights: Floats) -> "WeightedColumns":
        """Combine the kernels whose weight is not zero."""
        used = np.flatnonzero(weights)
        chosen, roots = kernels.only(used), np.sqrt(np.abs(weights[used]))
        train, held_out = ((part.toarray() - chosen.means) * roots for part in (chosen.columns, chosen.held_out))
        return cls(train, held_out, np.sign(weights[used]))

    @property
    def is_signed(self) -> bool:
        """Return whether a weight is negative, so that the kernel may be indefinite."""
        return bool((self.signs < 0).any())

    def kernel(self) -> FactoredKernel:
        """Return the kernel, projected onto the eigenvectors of its training part with positive eigenvalues."""
        if not self.is_signed:
            return FactoredKernel(self.train, self.held_out)
        train = self._positive_part(self.train)
        # The columns of P are eigenvectors, K P = P diag(P'P), so P = Z T with the T below; held-out rows are Z_h T.
        squares = np.einsum("ir,ir->r", train, train)
        transform = self.signs[:, None] * (self.train.T @ train) / squares
        return FactoredKernel(train, self.held_out @ transform)

    def alignment(self, labels: Floats, samples: slice | None = None, permuted: Floats | None = None) -> Estimates:
        """Compute the alignments of the kernel, or of its positive part if a weight is negative, with the labels.

        Kernel and labels are centered on the samples. The alignment is NaN if it is not defined.

        Parameters
        ----------
        labels
            Labels of the samples, (number of samples, columns).
        samples
            Part of the held-out samples; None for the training samples.
        permuted
            Permutations of the labels, (N, number of samples, columns).
        """
        columns = self.train if samples is None else self.held_out[samples]
        centered, deviations = columns - columns.mean(axis=0), center_labels(labels)
        if not deviations.any() or not _norm(centered) > CONSTANT_NORM_TOLERANCE * _norm(columns):
            return UNDEFINED
        if self.is_signed:
            centered = self._positive_part(centered)
        if not (norm := _norm(centered)):
            return UNDEFINED
        product = float(((centered.T @ deviations) ** 2).sum())
        level = None
        if permuted is not None:
            level = ((np.swapaxes(permuted, 1, 2) @ centered) ** 2).sum(axis=(1, 2))
        return alignment_estimates(product, norm, _row_products(centered, centered), deviations, level)

    def _positive_part(self, columns: Floats) -> Floats:
        """Return orthogonal columns P, for which `P P'` is the positive part of the kernel of some samples.

        With `Z = Q R`, the eigenvectors are `Q V`, where V are those of `R diag(signs) R'`.
        """
        orthogonal, triangle = np.linalg.qr(columns)
        values, vectors = scipy.linalg.eigh((triangle * self.signs) @ triangle.T)
        positive = values > len(values) * np.finfo(float).eps * np.abs(values).max()
        return np.asarray(orthogonal @ (vectors[:, positive] * np.sqrt(values[positive])))


def _row_products(left: Floats, right: Floats) -> Floats:
    """Return the inner products of corresponding rows."""
    return np.asarray(np.einsum("ir,ir->i", left, right))


def _norm(columns: Floats) -> float:
    """Return `||Z Z'||_F`."""
    return float(np.linalg.norm(columns.T @ columns))
