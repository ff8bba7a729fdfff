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

from tasks.arrays import Floats, Integers
from tasks.sums import Sums

# A kernel whose centered trace is this small beside its uncentered sums does not vary: what is left is rounding.
CONSTANT = 1e-13


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
    uncentered: Floats
    """(p,): the alignment of each kernel without centering (Cristianini et al. 2001)."""

    def scaled(self, trace: Floats) -> "Statistics":
        """The statistics of the kernels `K_k / trace_k`, 0 where trace is 0."""
        inverse = np.divide(1.0, trace, out=np.zeros_like(trace), where=trace > 0)
        return Statistics(
            M=self.M * np.outer(inverse, inverse),
            a=self.a * inverse,
            trace=self.trace * inverse,
            label_norm=self.label_norm,
            uncentered=self.uncentered,
        )


def statistics(
    sums: Sums, target: Floats, index: int, folds: Iterable[int], bounds: Integers, shift: float
) -> Statistics:
    """The statistics of the samples in `folds`, for target number `index`.

    Parameters
    ----------
    target
        (m,): the labels as they are. The sums were taken of `target - target.mean()`, which changes nothing that
        is centered and keeps digits where the mean is large.
    shift
        The constant that was taken off the kernels before they were summed.
    """
    chosen = np.array(sorted(folds))
    inside = np.concatenate([np.arange(bounds[f], bounds[f + 1]) for f in chosen])
    n = len(inside)
    offset = float(target.mean())
    y = target[inside] - offset
    ybar = float(y.mean())
    yc = y - ybar
    pairs = np.ix_(chosen, chosen)

    squares = sums.products[pairs].sum(axis=(0, 1))
    labels = sums.labels[index][pairs].sum(axis=(0, 1))
    diagonal = sums.diagonal[chosen].sum(axis=0)
    r = sums.rows[chosen].sum(axis=0)[:, inside]
    t = r.sum(axis=1)

    M = squares - (2.0 / n) * (r @ r.T) + np.outer(t, t) / n**2
    a = labels - 2.0 * ybar * (r @ y) + ybar**2 * t
    trace = diagonal - t / n
    constant = trace <= CONSTANT * (np.abs(diagonal) + np.abs(t) / n)
    M[constant, :] = M[:, constant] = 0.0
    a[constant] = trace[constant] = 0.0

    raw = labels + 2.0 * offset * (r @ y) + offset**2 * t + shift * float(target[inside].sum()) ** 2
    norms = np.sqrt(np.diag(squares) + 2.0 * shift * t + shift**2 * n**2)
    return Statistics(
        M=(M + M.T) / 2.0,
        a=np.maximum(a, 0.0),  # a >= 0 for positive semi-definite kernels; below 0 is rounding
        trace=trace,
        label_norm=float(yc @ yc),
        uncentered=raw / (norms * float(target[inside] @ target[inside])),
    )


def alignments(stats: Statistics) -> Floats:
    """Centered alignment of each kernel with the labels (the paper, "Kernel matrix alignment"); 0 for a constant kernel."""
    norms = np.sqrt(np.maximum(np.diag(stats.M), 0.0)) * stats.label_norm
    return np.divide(stats.a, norms, out=np.zeros_like(norms), where=norms > 0)


def alignment(stats: Statistics, mu: Floats) -> float:
    """Centered alignment of `sum_k mu_k K_k` with the labels; 0 if that kernel does not vary."""
    norm = float(np.sqrt(max(mu @ stats.M @ mu, 0.0))) * stats.label_norm
    return float(mu @ stats.a) / norm if norm > 0 else 0.0
