"""From one set of sums to `M`, `a` and the traces of any training or test set.

With `r_k` the row sums of `E_k` over a set T of n samples, `t_k` their total and `ybar` the mean label on T
(Lemma 1 of the paper, written out for sums):

    M_kl    = <E_k, E_l> - (2/n) r_k . r_l + t_k t_l / n^2
    a_k     = y' E_k y - 2 ybar (r_k . y) + ybar^2 t_k
    trace_k = tr E_k - t_k / n
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats, Integers
from kernel_pipeline.tasks.statistics.sums import Sums

# A kernel does not vary if its centered trace is at most this fraction of the sums from which it is computed: the rest
# is rounding. The sums are of E = K - shift, so a wide kernel, whose K is constant up to rounding, still varies.
CONSTANT = 1e-13
# Squares of smaller numbers lose digits, and `M` with them.
SMALLEST_TRACE = float(np.sqrt(np.finfo(float).tiny / np.finfo(float).eps))


@dataclass(frozen=True)
class Statistics:
    """What alignment needs to know of p kernels on one set of samples."""

    M: Floats
    """(p, p): <K_k, K_l> of the centered kernels."""
    a: Floats
    """(p,): <K_k, y y'> of the centered kernels."""
    trace: Floats
    """(p,): of the centered kernels; 0 for a kernel that is constant on the set."""
    label_norm: float
    """||yc yc'||_F = yc . yc, with yc the centered labels."""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""
        return np.asarray(self.trace > 0)

    def own_alignments(self) -> Floats:
        """Centered alignment of each kernel with the labels (Definition 4 of the paper).

        NaN where it is not defined: for a constant kernel, and for constant labels.
        """
        norms = np.sqrt(np.maximum(np.diag(self.M), 0.0)) * self.label_norm
        return np.divide(self.a, norms, out=np.full_like(norms, np.nan), where=norms > 0)

    def scaled(self, trace: Floats) -> "Statistics":
        """The statistics of the kernels `K_k / trace_k`, 0 where trace is 0."""
        inverse = np.divide(1.0, trace, out=np.zeros_like(trace), where=trace > 0)
        return Statistics(
            M=self.M * np.outer(inverse, inverse),
            a=self.a * inverse,
            trace=self.trace * inverse,
            label_norm=self.label_norm,
        )


def statistics(sums: Sums, target: Floats, index: int, folds: Iterable[int], bounds: Integers) -> Statistics:
    """Compute the statistics of the samples in `folds`, for target number `index`.

    Parameters
    ----------
    sums
        Sums of the kernels, from which any constant may have been subtracted: centering ignores it.
    target
        The labels that the sums were taken with. They may be shifted by any constant, which changes nothing that is
        centered: taking off their mean first keeps digits where it is large.
    """
    part = _restrict(sums, index, folds, bounds)
    y = target[part.inside]
    n, r, t = len(y), part.rows, part.rows.sum(axis=1)
    ybar = float(y.mean())
    yc = y - ybar

    M = part.products - (2.0 / n) * (r @ r.T) + np.outer(t, t) / n**2
    a = part.labels - 2.0 * ybar * (r @ y) + ybar**2 * t
    trace = part.diagonal - t / n
    constant = trace <= np.maximum(CONSTANT * (np.abs(part.diagonal) + np.abs(t) / n), SMALLEST_TRACE)
    M[constant, :] = M[:, constant] = 0.0
    a[constant] = trace[constant] = 0.0
    if np.ptp(y) == 0.0:  # constant labels: what centering leaves of them is rounding
        yc, a = np.zeros_like(y), np.zeros_like(a)
    return Statistics(
        M=(M + M.T) / 2.0,
        a=np.maximum(a, 0.0),  # a >= 0 for positive semi-definite kernels; below 0 is rounding
        trace=trace,
        label_norm=float(yc @ yc),
    )


def uncentered_alignments(
    sums: Sums,
    target: Floats,
    index: int,
    folds: Iterable[int],
    bounds: Integers,
    shifts: Floats,
    offset: float,
) -> Floats:
    """Compute the alignment of each kernel with the labels without centering (Cristianini et al. 2001).

    The sums are of `E = K - shift` and of `target`, where the labels are `target + offset`; both shifts are undone. The
    alignment is NaN where it is not defined, because the kernel or all labels are 0.

    Parameters
    ----------
    shifts
        (p,)
    """
    part = _restrict(sums, index, folds, bounds)
    y = target[part.inside]
    n, r, t = len(y), part.rows, part.rows.sum(axis=1)
    labels = y + offset
    products = part.labels + 2.0 * offset * (r @ y) + offset**2 * t + shifts * labels.sum() ** 2
    norms = np.sqrt(np.diag(part.products) + 2.0 * shifts * t + shifts**2 * n**2)
    norms *= float(labels @ labels)
    return np.asarray(np.divide(products, norms, out=np.full_like(norms, np.nan), where=norms > 0))


def diagonals(sums: Sums, folds: Iterable[int], bounds: Integers, shifts: Floats) -> Floats:
    """Return `K(x, x)` of the samples in `folds`, not centered, (p, n)."""
    return np.asarray(sums.diagonal[:, _samples(folds, bounds)] + shifts[:, None])


@dataclass(frozen=True)
class Degenerate:
    """Kernels of which a user should know that they are extreme."""

    constant: Booleans
    """(p,): the centered kernel is 0; it gets no weight."""
    flat: Booleans
    """(p,): `K` is a constant up to rounding; `E = K - shift`, which holds the rest of its digits, is not."""
    identity: Booleans
    """(p,): the centered kernel is a multiple of the centered identity, up to rounding of its norm."""


def degenerate(trace: Floats, squared_norms: Floats, diagonal: Floats, samples: int) -> Degenerate:
    """Find kernels that are constant, or constant or the identity up to rounding, on a training set.

    Parameters
    ----------
    trace
        (p,): of the centered kernels, 0 for those without any variance.
    squared_norms
        (p,): `<K_k, K_k>` of the centered kernels, scaled to trace one. It is at least 1 / (n - 1), the value of the
        centered identity.
    diagonal
        (p,): the mean of `K(x, x)`, not centered.
    """
    eps = np.finfo(float).eps
    return Degenerate(
        constant=np.asarray(trace == 0),
        flat=np.asarray((trace > 0) & (trace <= eps * samples * np.abs(diagonal))),
        identity=np.asarray((trace > 0) & (squared_norms * (samples - 1) <= 1.0 + 16 * eps * samples) & (samples > 2)),
    )


@dataclass(frozen=True)
class _Part:
    """The sums over one set of samples, and which samples these are."""

    inside: Integers
    products: Floats
    labels: Floats
    rows: Floats
    diagonal: Floats


def _samples(folds: Iterable[int], bounds: Integers) -> Integers:
    """Return the samples of some folds, in ascending order."""
    return np.concatenate([np.arange(bounds[fold], bounds[fold + 1]) for fold in sorted(folds)])


def _restrict(sums: Sums, index: int, folds: Iterable[int], bounds: Integers) -> _Part:
    chosen = np.array(sorted(folds))
    inside = _samples(chosen, bounds)
    pairs = np.ix_(chosen, chosen)
    return _Part(
        inside=inside,
        products=sums.products[pairs].sum(axis=(0, 1)),
        labels=sums.labels[index][pairs].sum(axis=(0, 1)),
        rows=sums.rows[chosen].sum(axis=0)[:, inside],
        diagonal=sums.diagonal[:, inside].sum(axis=1),
    )


def alignment(stats: Statistics, mu: Floats) -> float:
    """Centered alignment of `sum_k mu_k K_k` with the labels; NaN if that kernel or the labels do not vary."""
    norm = max(float(mu @ stats.M @ mu), 0.0) ** 0.5 * stats.label_norm
    return float(mu @ stats.a) / norm if norm > 0 else float("nan")
