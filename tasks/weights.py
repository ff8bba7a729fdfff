"""The rules that give the weights `mu` of the trace-one kernels, from what alignment knows of the kernels alone.

Every rule returns weights whose absolute values sum to one, so that `K_mu` has trace one where none is negative, and a
certificate: how far the weights are from solving the rule's own problem, 0 where they follow from a closed form.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from tasks.arrays import Booleans, Floats
from tasks.errors import NotSolvedError, NoWeightsError


class Evidence(Protocol):
    """What a rule may ask about the base kernels on a training set; they are scaled to trace one."""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""

    def own_alignments(self) -> Floats:
        """(p,): the centered alignment of each kernel with the labels, 0 for a constant one."""

    def largest_alignment(self) -> tuple[Floats, float]:
        """The solution of `min_{v >= 0} v'Mv - 2 v'a`, and its KKT residual relative to max|a|."""

    def unconstrained_alignment(self) -> tuple[Floats, float]:
        """The solution of `Mv = a` of least norm, and its residual relative to max|a|."""


# Relative residuals; what is worse is no answer.
PROMISED_ALIGNF, PROMISED_LINEAR = 1e-7, 1e-6

Rule = Callable[[Evidence], tuple[Floats, float]]


def unif(evidence: Evidence) -> tuple[Floats, float]:
    """Equal weights for all kernels that vary on the training set."""
    return _sum_to_one(evidence.varies.astype(np.float64)), 0.0


def align(evidence: Evidence, q: float = 2.0) -> tuple[Floats, float]:
    """Weights proportional to each kernel's own centered alignment (the paper, equation 4).

    With `q` they are the solution of its problem 5 for kernels of norm one, whose weights are bounded in the L_q norm:
    proportional to the power 1 / (q - 1) of the alignment (Proposition 7). As q goes to 1, the best kernel takes all.
    """
    if q == 1.0:
        return best_kernel(evidence)
    values = evidence.own_alignments()
    largest = float(values.max(initial=0.0))
    if largest <= 0.0:
        raise NoWeightsError
    return _sum_to_one((values / largest) ** (1.0 / (q - 1.0))), 0.0


def alignf(evidence: Evidence) -> tuple[Floats, float]:
    """The weights `mu >= 0` of the largest alignment, by the QP of the paper's section 3.2.2."""
    return _solved(*evidence.largest_alignment(), PROMISED_ALIGNF)


def alignf_linear(evidence: Evidence) -> tuple[Floats, float]:
    """The weights of any sign of the largest alignment, `M^-1 a` (the paper's Proposition 8)."""
    return _solved(*evidence.unconstrained_alignment(), PROMISED_LINEAR)


def best_kernel(evidence: Evidence) -> tuple[Floats, float]:
    """All weight on the kernel of the largest alignment; the first of equals."""
    values = evidence.own_alignments()
    mu = np.zeros_like(values)
    best = int(np.argmax(values))
    mu[best] = values[best] > 0
    return _sum_to_one(mu), 0.0


RULES: dict[str, Rule] = {
    "unif": unif,
    "align": align,
    "alignf": alignf,
    "alignf-linear": alignf_linear,
    "best-kernel": best_kernel,
}


def _solved(v: Floats, residual: float, promised: float) -> tuple[Floats, float]:
    if not residual <= promised:
        raise NotSolvedError(
            f"the weights were found only to a residual of {residual:.1e}; {promised:g} is promised. Numbers that "
            "differ by many orders of magnitude do that: scale the features"
        )
    return _sum_to_one(v), residual


def _sum_to_one(values: Floats) -> Floats:
    total = float(np.abs(values).sum())
    if not total > 0:
        raise NoWeightsError
    return values / total
