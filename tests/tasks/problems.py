"""Small random problems for the methods that learn weights and predictor at once.

References are computed from `grams`, which follow from the definitions only.
"""

from dataclasses import dataclass

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels, GramKernels
from kernel_pipeline.tasks.kernels.rank_one import RankOneKernels
from tests.tasks.dense import Floats

KINDS = ["gaussian", "low rank", "rank one"]


@dataclass(frozen=True)
class Problem:
    kernels: BaseKernels
    grams: Floats
    """Kernels, (p, n, n), centered and of trace one."""
    held_out: Floats
    """Kernels of held-out samples with the training samples, (p, q, n)."""
    y: Floats
    classes: Floats
    """Labels -1 and +1 from `y`, both present, often unbalanced."""

    def dense(self) -> GramKernels:
        """Return the same kernels as Gram matrices."""
        return GramKernels(self.grams, self.held_out, np.trace(self.grams, axis1=1, axis2=2) > 0)


def make_problem(seed: int, kind: str, n: int | None = None, p: int | None = None, duplicates: bool = False) -> Problem:
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    n = int(rng.integers(6, 41)) if n is None else n
    p = int(rng.integers(1, 13)) if p is None else p
    q = 5
    x = rng.normal(size=(n + q, int(rng.integers(1, 5))))
    if kind == "rank one":
        features = rng.poisson(1.5, size=(n + q, p)) * (rng.random((n + q, p)) < rng.choice([0.15, 0.5]))
        features[0] += np.ptp(features[:n], axis=0) == 0  # no column is constant
        vectors = features[:, :, None].astype(np.float64)
    elif kind == "low rank":
        vectors = rng.normal(size=(n + q, p, int(rng.integers(1, n + 1)))) + 3.0
    else:
        lo = int(rng.integers(-10, 0))
        distances = ((x[:, None] - x[None]) ** 2).sum(axis=2)
        whole = np.stack([np.expm1(-(2.0 ** (lo + k)) * distances) for k in range(p)])
    if kind != "gaussian":
        whole = np.einsum("ikr,jkr->kij", vectors, vectors)
    if duplicates and p > 1:
        whole[p - 1] = whole[0]
    U = np.eye(n) - 1.0 / n
    grams, held_out = U @ whole[:, :n, :n] @ U, (whole[:, n:, :n] - whole[:, :n, :n].mean(axis=1)[:, None]) @ U
    traces = np.trace(grams, axis1=1, axis2=2)[:, None, None]
    y = rng.normal(size=n) if seed % 3 else np.sin(2 * x[:n, 0]) + 0.2 * rng.normal(size=n)
    classes = np.where(y > np.quantile(y, rng.choice([0.15, 0.5, 0.7])), 1.0, -1.0)
    kernels: BaseKernels
    if kind == "rank one":
        columns = scipy.sparse.csr_array(vectors[:, :, 0])
        if duplicates and p > 1:
            columns = scipy.sparse.csr_array(np.column_stack([vectors[:, : p - 1, 0], 3 * vectors[:, 0, 0]]))
        kernels = RankOneKernels.of(columns[:n], columns[n:])
    else:
        samples = np.arange(n + q)
        kernels = GramKernels.of(whole, traces.ravel(), samples[:n], samples[n:])
    return Problem(kernels, grams / traces, held_out / traces, y + 2.0, classes)
