"""The rules that give the weights `mu` of the trace-one kernels, from what alignment knows of the kernels alone.

Every rule returns weights whose absolute values sum to one, so that `K_mu` has trace one where none is negative, and a
certificate: how far the weights are from solving the rule's own problem, 0 where they follow from a closed form.
"""

from collections.abc import Callable
from typing import Protocol

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.errors import NotSolvedError, NoWeightsError


class Evidence(Protocol):
    """What a rule may ask about the base kernels on a training set; they are scaled to trace one."""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""

    def own_alignments(self) -> Floats:
        """(p,): the centered alignment of each kernel with the labels, NaN where it is not defined."""

    def label_products(self) -> Floats:
        """(p,): `a_k = <K_k, y y'>` of the centered kernels, 0 for a constant one."""

    def largest_alignment(self) -> tuple[Floats, float]:
        """The solution of `min_{v >= 0} v'Mv - 2 v'a`, and its KKT residual relative to max|a|."""

    def unconstrained_alignment(self) -> tuple[Floats, float]:
        """The solution of `Mv = a` of least norm, and its residual relative to max|a|."""


# Relative residuals; what is worse is no answer.
PROMISED_ALIGNF, PROMISED_LINEAR = 1e-7, 1e-6

Rule = Callable[[Evidence], tuple[Floats, float]]


def unif(evidence: Evidence) -> tuple[Floats, float]:
    """Equal weights for all kernels that vary on the training set."""
    return _proportional(evidence.varies.astype(np.float64)), 0.0


def align(evidence: Evidence) -> tuple[Floats, float]:
    """Weights proportional to each kernel's own centered alignment (the paper, equation 3)."""
    return _proportional(_relative(_defined_alignments(evidence))), 0.0


def align_q(evidence: Evidence, q: float) -> tuple[Floats, float]:
    """Solve the paper's problem 4: the largest `<K_mu, y y'>` of trace-one kernels with weights bounded in L_q norm.

    The weights are proportional to `a_k^(1/(q-1))` (Proposition 7). As q goes to 1, the kernel with the largest `a_k`
    takes all the weight. With q = 2 they are proportional to `a_k`, while those of `align` are proportional to
    `a_k / ||K_k||_F`: the two agree only for kernels of equal norm.
    """
    values = evidence.label_products()
    if q == 1.0:
        return _all_on_the_largest(values), 0.0
    return _proportional(_relative(values) ** (1.0 / (q - 1.0))), 0.0


def alignf(evidence: Evidence) -> tuple[Floats, float]:
    """The weights `mu >= 0` of the largest alignment, by the QP of the paper's section 3.2.2."""
    return _solved(*evidence.largest_alignment(), PROMISED_ALIGNF)


def alignf_linear(evidence: Evidence) -> tuple[Floats, float]:
    """The weights of any sign of the largest alignment, `M^-1 a` (the paper's Proposition 8)."""
    return _solved(*evidence.unconstrained_alignment(), PROMISED_LINEAR)


def best_kernel(evidence: Evidence) -> tuple[Floats, float]:
    """All weight on the kernel of the largest alignment; the first of equals."""
    return _all_on_the_largest(_defined_alignments(evidence)), 0.0


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
            f"the weights were found only to a residual of {residual:.1e}, and {promised:g} is promised. The kernels "
            "are too nearly dependent on this training set: use fewer kernels, more samples or `align`, or scale "
            "features whose sizes differ by many orders of magnitude"
        )
    return _proportional(v), residual


def _defined_alignments(evidence: Evidence) -> Floats:
    """The kernels' own alignments, 0 where they are not defined."""
    return np.nan_to_num(evidence.own_alignments(), nan=0.0)


def _relative(values: Floats) -> Floats:
    """Divide values by the largest one, which keeps their powers in range."""
    largest = float(values.max(initial=0.0))
    if largest <= 0.0:
        raise NoWeightsError
    return values / largest


def _all_on_the_largest(values: Floats) -> Floats:
    weights = np.zeros_like(values)
    best = int(np.argmax(values))
    weights[best] = values[best] > 0
    return _proportional(weights)


def _proportional(values: Floats) -> Floats:
    """Scale values so that their absolute values sum to one."""
    total = float(np.abs(values).sum())
    if not total > 0:
        raise NoWeightsError
    return values / total
