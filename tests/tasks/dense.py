"""The definitions of the paper with whole matrices, independent of the code under test.

They use extended precision, because a Gaussian kernel of small gamma is close to 1, and centering cancels the 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Extended = NDArray[np.longdouble]


def squared_distances(rows: Floats, columns: Floats) -> Extended:
    differences = rows.astype(np.longdouble)[:, None, :] - columns.astype(np.longdouble)[None, :, :]
    return np.asarray((differences**2).sum(axis=2))


def gaussians(features: Floats, log2_gamma: Sequence[int]) -> Extended:
    """Compute exp(-gamma ||x - z||^2) for every gamma, (p, m, m), each by its own exponential."""
    distances = squared_distances(features, features)
    exponents = range(log2_gamma[0], log2_gamma[1] + 1)
    return np.stack([np.exp(-(np.longdouble(2.0) ** exponent) * distances) for exponent in exponents])


def centered(kernel: Extended) -> Extended:
    """Compute U K U with U = I - 11'/n (Lemma 1), for one kernel or for each of a stack."""
    n = kernel.shape[-1]
    U = np.eye(n, dtype=np.longdouble) - np.ones((n, n), dtype=np.longdouble) / n
    return np.asarray(U @ kernel @ U)


def centered_label_kernel(labels: Floats) -> Extended:
    """Compute U Y Y' U as (UY)(UY)', since the squares of a large mean would cancel digits."""
    n = len(labels)
    U = np.eye(n, dtype=np.longdouble) - np.ones((n, n), dtype=np.longdouble) / n
    y = U @ labels.reshape(n, -1).astype(np.longdouble)
    return np.asarray(y @ y.T)


def frobenius(K: Extended, L: Extended) -> np.longdouble:
    return np.longdouble((K * L).sum())


def uncentered_alignment(K: Extended, labels: Floats) -> float:
    """Compute <K, Y Y'> / (||K|| ||Y Y'||) without centering."""
    block = labels.reshape(len(labels), -1).astype(np.longdouble)
    label_kernel = block @ block.T
    norms = np.sqrt(frobenius(K, K) * frobenius(label_kernel, label_kernel))
    return float(frobenius(K, label_kernel) / norms)


def centered_alignment(K: Extended, labels: Floats) -> float:
    """Compute the same quotient for K_c and the centered label kernel (Definition 4)."""
    K, label_kernel = centered(K), centered_label_kernel(labels)
    norms = np.sqrt(frobenius(K, K) * frobenius(label_kernel, label_kernel))
    return float(frobenius(K, label_kernel) / norms)


@dataclass(frozen=True)
class DenseStatistics:
    M: Floats
    a: Floats
    trace: Floats
    label_norm: float

    def trace_one(self) -> "DenseStatistics":
        return DenseStatistics(
            self.M / np.outer(self.trace, self.trace), self.a / self.trace, np.ones_like(self.trace), self.label_norm
        )


def dense_statistics(kernels: Extended, labels: Floats, inside: Integers) -> DenseStatistics:
    """Compute M, a and the traces from the samples `inside` only."""
    K = centered(kernels[:, inside[:, None], inside[None, :]])
    label_kernel = centered_label_kernel(labels[inside])
    flat = K.reshape(len(K), -1)
    return DenseStatistics(
        M=(flat @ flat.T).astype(np.float64),
        a=(flat @ label_kernel.reshape(-1)).astype(np.float64),
        trace=np.trace(K, axis1=1, axis2=2).astype(np.float64),
        label_norm=float(np.sqrt(frobenius(label_kernel, label_kernel))),
    )
