"""Choose how a ridge path is solved: a pure function of sizes and ridges, so that all hosts make the same choice.

Costs are in nanoseconds of one core with 48 GFlop/s; only their ratios matter for the choice, and the estimates of a
plan use their values. They were measured on kernels of 4,000 to 12,000 samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from kernel_pipeline.tasks.arrays import Floats

# Up to this number of samples, the tridiagonalisation is always used: it takes seconds, and needs no tolerance.
MAX_TRIDIAGONAL = 3000
# Smaller ridges are treated as this one when groups are formed.
MIN_RIDGE = 1e-100
# Costs per n^3 of one factorisation.
TRIDIAGONALISATION, CHOLESKY = 0.083, 0.007
# Costs per n^2 of an operation on a block, and of each of its columns.
PRODUCT, SOLVE = (1.2, 0.035), (0.75, 0.04)
# Steps of conjugate gradients for a residual of 1e-7 and a condition number of one; they grow with its square root.
CG_STEPS = 8.4
# Factor in the number of Lanczos steps with a factorisation (`lanczos_steps`), measured on kernels with a heavy tail.
LANCZOS_STEPS = 6.0
# Rank of the preconditioner: its columns are at most a tenth of the kernel.
MAX_RANK = 1000
SAMPLES_PER_RANK = 10


@dataclass(frozen=True)
class RidgeGroups:
    """Division of the ridges of a path, from the largest to the smallest, into groups."""

    iterated: int
    """Number of ridges that are solved with the preconditioner of low rank."""
    factorised: tuple[tuple[int, int], ...]
    """Groups of the other ridges, as indices (start, stop); each group needs one factorisation."""
    cost: float


@dataclass(frozen=True)
class RidgeApproach:
    """The approach to a path, and the reason for it."""

    is_tridiagonal: bool
    reason: str


def choose_approach(n: int, ridges: Sequence[float] | Floats, outputs: int) -> RidgeApproach:
    """Choose between one tridiagonalisation and iterations for a kernel of trace one.

    Parameters
    ----------
    n
        Number of training samples.
    ridges
        Regularisation values.
    outputs
        Number of label columns.

    Examples
    --------
    >>> choose_approach(2400, [1.0, 0.5], 1).is_tridiagonal
    True
    >>> print(choose_approach(12_000, [2.0**e for e in range(0, -31, -2)], 1).reason)
    iterations with a preconditioner of rank 1000 and 1 Cholesky factorisation: about 6.2 times less work than one \
tridiagonalisation
    """
    if n <= MAX_TRIDIAGONAL:
        return RidgeApproach(True, f"one tridiagonalisation, as for all kernels of up to {MAX_TRIDIAGONAL:,} samples")
    groups = divide_ridges(n, sorted(ridges, reverse=True), outputs, expected_tail(n))
    ratio = TRIDIAGONALISATION * n**3 / groups.cost
    if ratio <= 1:
        return RidgeApproach(True, "one tridiagonalisation: for these ridges, iterations would not be faster")
    count = len(groups.factorised)
    factorisations = f"{count} Cholesky factorisation{'' if count == 1 else 's'}"
    return RidgeApproach(
        False,
        f"iterations with a preconditioner of rank {max_rank(n)} and {factorisations}: about {ratio:.1f} times less "
        "work than one tridiagonalisation",
    )


def ridge_path_cost(n: int, ridges: Sequence[float] | Floats, outputs: int) -> float:
    """Return the expected time of a path with the chosen approach, in nanoseconds of one core with 48 GFlop/s.

    >>> ridge_path_cost(1000, [1.0], 1) == TRIDIAGONALISATION * 1000**3
    True
    """
    if choose_approach(n, ridges, outputs).is_tridiagonal:
        return TRIDIAGONALISATION * n**3
    return divide_ridges(n, sorted(ridges, reverse=True), outputs, expected_tail(n)).cost


def ridge_group_costs(n: int, ridges: Sequence[float] | Floats, outputs: int) -> list[float]:
    """Return the expected cost of the large ridges of a path, followed by the cost of each group of the others.

    >>> groups = ridge_group_costs(12_000, [2.0**e for e in range(0, -31, -2)], 1)
    >>> len(groups), groups[0] < groups[1] < TRIDIAGONALISATION * 12_000**3
    (2, True)
    """
    values = np.array(sorted(ridges, reverse=True))
    groups = divide_ridges(n, values, outputs, expected_tail(n))
    large = _iterated_cost(n, values[: groups.iterated], outputs, expected_tail(n))
    return [large, *(factorised_cost(n, values[first:last], outputs) for first, last in groups.factorised)]


def max_rank(n: int) -> int:
    """Return the largest rank of the preconditioner for n samples."""
    return min(n // SAMPLES_PER_RANK, MAX_RANK)


def expected_tail(n: int) -> float:
    """Return the usual `LowRankApproximation.tail` of narrow kernels of trace one."""
    return 2.0 / n


def divide_ridges(n: int, ridges: Sequence[float] | Floats, outputs: int, tail: float) -> RidgeGroups:
    """Divide ridges, in descending order, into the groups with the smallest total cost.

    Parameters
    ----------
    tail
        Typical eigenvalue of the part of the kernel that the preconditioner leaves; see `LowRankApproximation`.
    """
    values = np.maximum(np.asarray(ridges, dtype=np.float64), MIN_RIDGE)
    count = len(values)
    # least[k]: smallest cost of the ridges from k on with factorisations only; ends[k]: end of their first group.
    least, ends = [0.0] * (count + 1), [count] * (count + 1)
    for first in reversed(range(count)):
        costs = {
            last: factorised_cost(n, values[first:last], outputs) + least[last] for last in range(first + 1, count + 1)
        }
        ends[first] = min(costs, key=lambda last: costs[last])
        least[first] = costs[ends[first]]
    totals = [_iterated_cost(n, values[:split], outputs, tail) + least[split] for split in range(count + 1)]
    iterated = int(np.argmin(totals))
    bounds = [iterated]
    while bounds[-1] < count:
        bounds.append(ends[bounds[-1]])
    return RidgeGroups(iterated, tuple(pairwise(bounds)), totals[iterated])


def cg_steps(ridges: Floats, tail: float) -> list[float]:
    """Return the expected number of steps of conjugate gradients for each ridge."""
    return [CG_STEPS * float(np.sqrt(1.0 + tail / ridge)) for ridge in ridges]


def lanczos_steps(ridges: Floats) -> float:
    """Return the expected number of Lanczos steps for a group of ridges, factorised at their geometric mean."""
    root = float((ridges[0] / ridges[-1]) ** 0.25)  # square root of the condition number
    return 1.0 + LANCZOS_STEPS * (root - 1.0 / root)


def _iterated_cost(n: int, ridges: Floats, outputs: int, tail: float) -> float:
    if not len(ridges):
        return 0.0
    steps = cg_steps(ridges, tail)
    block, column = PRODUCT
    return float(n**2 * (block * max(steps) + column * (1.0 + 2.0 * max_rank(n) / n) * outputs * sum(steps)))


def factorised_cost(n: int, ridges: Floats, outputs: int) -> float:
    """Return the expected cost of a group of ridges that are solved with one factorisation."""
    block, column = SOLVE
    return float(CHOLESKY * n**3 + lanczos_steps(ridges) * n**2 * (block + column * outputs))
