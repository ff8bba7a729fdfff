"""The rules that give the weights `mu` of the trace-one kernels, from statistics alone.

Every rule returns weights that sum to one, so that `K_mu` has trace one, and a certificate: how far the
weights are from solving the rule's own problem, 0 where they follow from a closed form.
"""

from collections.abc import Callable

import numpy as np

from tasks.arrays import Floats
from tasks.qp import nonnegative_qp
from tasks.statistics import Statistics, alignments

Rule = Callable[[Statistics], tuple[Floats, float]]


class NoWeightsError(ValueError):
    """The statistics leave nothing to choose weights by."""

    def __init__(self) -> None:
        super().__init__("no kernel varies on the training set and is aligned with its labels")


def unif(stats: Statistics) -> tuple[Floats, float]:
    """Equal weights for all kernels that vary on the training set."""
    return _sum_to_one((stats.trace > 0).astype(np.float64)), 0.0


def align(stats: Statistics) -> tuple[Floats, float]:
    """Weights proportional to each kernel's own centered alignment (the paper, equation 4)."""
    return _sum_to_one(alignments(stats)), 0.0


def alignf(stats: Statistics) -> tuple[Floats, float]:
    """The weights `mu >= 0` of the largest alignment, by the QP of the paper's section 3.2.2."""
    v, residual = nonnegative_qp(stats.M, stats.a)
    return _sum_to_one(v), residual


def best_kernel(stats: Statistics) -> tuple[Floats, float]:
    """All weight on the kernel of the largest alignment; the first of equals."""
    values = alignments(stats)
    mu = np.zeros_like(values)
    best = int(np.argmax(values))
    mu[best] = values[best] > 0
    return _sum_to_one(mu), 0.0


RULES: dict[str, Rule] = {"unif": unif, "align": align, "alignf": alignf, "best-kernel": best_kernel}


def _sum_to_one(values: Floats) -> Floats:
    total = float(values.sum())
    if not total > 0:
        raise NoWeightsError
    return values / total
