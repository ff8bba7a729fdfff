"""Compute `M`, `a` and the traces of any training or test set from the sums over tiles.

Let `E_k` be a kernel minus its shift, `r_k` its row sums over a set T of n samples, `t_k` their total and `ybar` the
mean label on T. Lemma 1 of the paper, written in terms of sums, is

    M_kl    = <E_k, E_l> - (2/n) r_k . r_l + t_k t_l / n^2
    a_k     = y' E_k y - 2 ybar (r_k . y) + ybar^2 t_k
    trace_k = tr E_k - t_k / n

For a block Y of label columns, `a_k = <K_k, Y Y'>` is the sum over its columns.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.labels import center_labels, label_norm
from kernel_pipeline.tasks.statistics.sums import Sums

# A kernel is constant up to rounding if its centered trace is at most this fraction of the sums from which it is
# computed. The sums are those of E = K - shift, so a wide kernel, whose K is constant up to rounding, still varies.
CONSTANT_TRACE_TOLERANCE = 1e-13
# The squared norm of a combined kernel counts as 0 if it is at most this fraction of its largest possible value.
CANCELLATION_TOLERANCE = 1e-12
# Squares of smaller numbers, and therefore `M`, lose precision.
MIN_TRACE = float(np.sqrt(np.finfo(float).tiny / np.finfo(float).eps))


@dataclass(frozen=True)
class Statistics:
    """Statistics of p kernels on one set of samples, from which alignments are computed."""

    M: Floats
    """Products <K_k, K_l> of the centered kernels, (p, p)."""
    a: Floats
    """Products <K_k, Y Y'> of the centered kernels with the labels, (p,)."""
    trace: Floats
    """Traces of the centered kernels, (p,); 0 for a kernel that is constant on the set."""
    label_norm: float
    """||Yc Yc'||_F, with Yc the centered labels; yc . yc for one column."""

    @property
    def varies(self) -> Booleans:
        """Return which kernels are not constant, (p,)."""
        return np.asarray(self.trace > 0)

    def own_alignments(self) -> Floats:
        """Return the centered alignment of each kernel with the labels (Definition 4 of the paper).

        It is NaN if it is not defined: for a constant kernel, and for constant labels.
        """
        norms = np.sqrt(np.maximum(np.diag(self.M), 0.0)) * self.label_norm
        return np.divide(self.a, norms, out=np.full_like(norms, np.nan), where=norms > 0)

    def scaled(self, trace: Floats) -> "Statistics":
        """Return the statistics of the kernels `K_k / trace_k`; 0 for kernels whose trace is 0."""
        inverse = np.divide(1.0, trace, out=np.zeros_like(trace), where=trace > 0)
        return Statistics(
            M=self.M * np.outer(inverse, inverse),
            a=self.a * inverse,
            trace=self.trace * inverse,
            label_norm=self.label_norm,
        )


def statistics(
    sums: Sums, labels: Floats, columns: Sequence[int], folds: Iterable[int], bounds: Integers
) -> Statistics:
    """Compute the statistics of the samples in `folds` for a block of label columns.

    Parameters
    ----------
    sums
        Sums of the kernels. Constants that were subtracted from the kernels do not affect centered statistics.
    labels
        The labels with which the sums were computed, (m, number of columns). A constant shift does not affect centered
        statistics, so a large mean should be subtracted first, to preserve precision.
    columns
        Columns of the block.
    folds, bounds
        Folds whose samples are used, and the start of each fold, followed by m.
    """
    part = _restrict(sums, columns, folds, bounds)
    block = labels[part.samples][:, list(columns)]
    n, r, t = len(block), part.rows, part.rows.sum(axis=1)

    M = part.products - (2.0 / n) * (r @ r.T) + np.outer(t, t) / n**2
    a = np.zeros_like(t)
    for products, y in zip(part.label_products, np.ascontiguousarray(block.T), strict=True):
        if np.ptp(y) > 0.0:  # a constant column contains only rounding errors after centering
            ybar = float(y.mean())
            a += products - 2.0 * ybar * (r @ y) + ybar**2 * t
    trace = part.diagonal - t / n
    constant = trace <= np.maximum(CONSTANT_TRACE_TOLERANCE * (np.abs(part.diagonal) + np.abs(t) / n), MIN_TRACE)
    M[constant, :] = M[:, constant] = 0.0
    a[constant] = trace[constant] = 0.0
    return Statistics(
        M=(M + M.T) / 2.0,
        a=np.maximum(a, 0.0),  # a >= 0 for positive semi-definite kernels; negative values are rounding errors
        trace=trace,
        label_norm=label_norm(center_labels(block)),
    )


def uncentered_alignments(
    sums: Sums,
    labels: Floats,
    columns: Sequence[int],
    folds: Iterable[int],
    bounds: Integers,
    shifts: Floats,
    offsets: Floats,
) -> Floats:
    """Compute the alignment of each kernel with the labels without centering (Cristianini et al. 2001).

    The sums are those of `E = K - shift` and of `labels`, from which `offsets` were subtracted; the shifts and
    the offsets are added back. The alignment is NaN if it is not defined, because the kernel or all labels are 0.

    Parameters
    ----------
    sums, labels, columns, folds, bounds
        As for `statistics`.
    shifts
        Shift of each kernel, (p,).
    offsets
        Constant that was subtracted from each label column.
    """
    part = _restrict(sums, columns, folds, bounds)
    block = labels[part.samples][:, list(columns)]
    n, r, t = len(block), part.rows, part.rows.sum(axis=1)
    original = block + offsets[list(columns)]
    products = np.zeros_like(t)
    for label_products, y, offset, total in zip(
        part.label_products, np.ascontiguousarray(block.T), offsets[list(columns)], original.T.sum(axis=1), strict=True
    ):
        products += label_products + 2.0 * offset * (r @ y) + offset**2 * t + shifts * total**2
    norms = np.sqrt(np.diag(part.products) + 2.0 * shifts * t + shifts**2 * n**2)
    norms *= label_norm(original)
    return np.asarray(np.divide(products, norms, out=np.full_like(norms, np.nan), where=norms > 0))


def centered_diagonals(sums: Sums, folds: Iterable[int], bounds: Integers) -> Floats:
    """Return the diagonals of the kernels, centered on the samples in `folds`, (p, n)."""
    chosen = np.array(sorted(folds))
    inside = _samples(chosen, bounds)
    rows = sums.rows[chosen].sum(axis=0)[:, inside] / len(inside)
    return np.asarray(sums.diagonal[:, inside] - 2.0 * rows + rows.mean(axis=1, keepdims=True))


def diagonals(sums: Sums, folds: Iterable[int], bounds: Integers, shifts: Floats) -> Floats:
    """Return `K(x, x)` of the samples in `folds`, without centering, (p, n)."""
    return np.asarray(sums.diagonal[:, _samples(folds, bounds)] + shifts[:, None])


@dataclass(frozen=True)
class DegenerateMasks:
    """Masks of degenerate kernels, which are reported to the user. Each field has shape (p,)."""

    constant: Booleans
    """Whether the centered kernel is 0, so that its weight is 0."""
    flat: Booleans
    """Whether `K` is constant up to rounding, while `E = K - shift`, which is more precise, is not."""
    identity: Booleans
    """Whether the centered kernel is a multiple of the centered identity, up to rounding of its norm."""


def find_degenerate(trace: Floats, squared_norms: Floats, diagonal: Floats, samples: int) -> DegenerateMasks:
    """Find kernels that are constant or proportional to the identity on a training set, up to rounding.

    Parameters
    ----------
    trace
        Traces of the centered kernels, (p,); 0 for constant kernels.
    squared_norms
        `<K_k, K_k>` of the centered kernels, scaled to trace one, (p,). They are at least 1 / (n - 1), the value of the
        centered identity.
    diagonal
        Mean of `K(x, x)` without centering, (p,).
    samples
        Number of training samples n.
    """
    eps = np.finfo(float).eps
    return DegenerateMasks(
        constant=np.asarray(trace == 0),
        flat=np.asarray((trace > 0) & (trace <= eps * samples * np.abs(diagonal))),
        identity=np.asarray((trace > 0) & (squared_norms * (samples - 1) <= 1.0 + 16 * eps * samples) & (samples > 2)),
    )


@dataclass(frozen=True)
class _SubsetSums:
    """Sums over one set of samples, and the indices of these samples."""

    samples: Integers
    products: Floats
    label_products: Floats
    """y' E_k y of each label column, (number of columns, p)."""
    rows: Floats
    diagonal: Floats


def _samples(folds: Iterable[int], bounds: Integers) -> Integers:
    """Return the samples of some folds, in ascending order."""
    return np.concatenate([np.arange(bounds[fold], bounds[fold + 1]) for fold in sorted(folds)])


def _restrict(sums: Sums, columns: Sequence[int], folds: Iterable[int], bounds: Integers) -> _SubsetSums:
    """Return the sums over all pairs of the given folds."""
    chosen = np.array(sorted(folds))
    inside = _samples(chosen, bounds)
    pairs = np.ix_(chosen, chosen)
    return _SubsetSums(
        samples=inside,
        products=sums.products[pairs].sum(axis=(0, 1)),
        label_products=np.stack([sums.label_products[column][pairs].sum(axis=(0, 1)) for column in columns]),
        rows=sums.rows[chosen].sum(axis=0)[:, inside],
        diagonal=sums.diagonal[:, inside].sum(axis=1),
    )


def alignment(stats: Statistics, mu: Floats) -> float:
    """Return the centered alignment of `sum_k mu_k K_k` with the labels; NaN if one of them is constant.

    The statistics may be debiased; the products of different kernels can then be negative and cancel the squares.
    """
    norm = alignment_norm(stats, mu)
    return float(mu @ stats.a) / norm if norm > 0 else float("nan")


def alignment_norm(stats: Statistics, mu: Floats) -> float:
    """Return the product of the norms of `sum_k mu_k K_k` and of the labels; 0 if the alignment is not defined."""
    square = float(mu @ stats.M @ mu)
    if not square > CANCELLATION_TOLERANCE * float(np.abs(mu) @ np.sqrt(np.maximum(np.diag(stats.M), 0.0))) ** 2:
        return 0.0
    return float(np.sqrt(square)) * stats.label_norm
