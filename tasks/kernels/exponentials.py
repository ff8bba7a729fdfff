"""Compute kernels `exp(-gamma D)` of one distance D, with one exponential for each sequence of gammas that double.

The kernels are computed as `E = K - 1`, which is accurate even if `gamma D` is so small that `K` is rounded to 1.
"""

from collections.abc import Sequence

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.generator import Evaluate

# K = E + SHIFT: the value of K(x, x), which is also the limit of wide kernels.
SHIFT = 1.0
# Upper bound of computed factors: an infinite factor would give NaN at distance 0.
MAX_RATE = 1e300

Chains = tuple[tuple[int, ...], ...]


def doubling_chains(rates: Sequence[float]) -> Chains:
    """Divide kernels into chains in which each rate is exactly twice the one before.

    Parameters
    ----------
    rates
        Factor by which each kernel multiplies distances, (p,), in any order.

    Returns
    -------
    chains
        Indices of the rates of each chain, from the smallest to the largest rate.

    Examples
    --------
    >>> doubling_chains([0.4, 0.1, 0.3, 0.2, 0.6])
    ((1, 3, 0), (2, 4))
    """
    chains: list[list[int]] = []
    ends: dict[float, list[int]] = {}
    for index in sorted(range(len(rates)), key=rates.__getitem__):
        chain = ends.pop(rates[index] / 2.0, None)
        if chain is None:
            chain = []
            chains.append(chain)
        chain.append(index)
        ends[rates[index]] = chain
    return tuple(map(tuple, chains))


def shifted_exponentials(gammas: Sequence[float]) -> Evaluate:
    """Return a function that writes `E_k = exp(-gamma_k D) - 1` of distances D, without changing the distances.

    One `expm1` is enough for a chain of gammas that double, since `E_{2 gamma} = E_gamma (E_gamma + 2)`.
    """
    chains = doubling_chains(gammas)

    def evaluate(distances: Floats, out: Floats) -> None:
        for first, *others in chains:
            wider = out[first]
            with np.errstate(over="ignore"):  # if this overflows, the kernel is 0 at that distance
                np.multiply(distances, -gammas[first], out=wider)
            np.expm1(wider, out=wider)
            for index in others:
                narrower = out[index]
                np.add(wider, 2.0, out=narrower)
                narrower *= wider
                wider = narrower

    return evaluate
