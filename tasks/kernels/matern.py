"""Matern kernels with half-integer nu, which are polynomials times an exponential.

With `a = sqrt(2 nu) ||x - z|| / length_scale` and `e = exp(-a) - 1`:

    nu = 0.5    K = exp(-a)
    nu = 1.5    K = (1 + a) exp(-a)              E = K - 1 = e + a (1 + e)
    nu = 2.5    K = (1 + a + a^2 / 3) exp(-a)    E = K - 1 = e + (a + a^2 / 3) (1 + e)

If a is small, terms of opposite signs cancel in E, so E is computed from its power series. For length scales that
halve, each kernel is computed from the previous one without an exponential, from terms of the same sign:

    nu = 1.5    E(2a) = E (E + 2) - t^2                        t = a (1 + e)
    nu = 2.5    E(2a) = E (E + 2) - t^2 (3 + 6 a + a^2) / 9
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import factorial, sqrt
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import accurate_squared_distances
from kernel_pipeline.tasks.kernels.exponentials import MAX_RATE, SHIFT, doubling_chains, shifted_exponentials
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.parameters import ParameterError, parameter

# Below this argument, the power series with this number of terms is used.
SMALL_ARGUMENT, TERMS = 1 / 32, 7
# Above this argument every kernel is 0. With larger arguments, rounding errors of 1 + e would be amplified.
MAX_ARGUMENT = 1000.0
# E = a^2 (c_0 + c_1 a + ...): the coefficients of the power series of K without the first two, which are 1 and 0.
SERIES = {
    1.5: [(-1) ** k * (1 - k) / factorial(k) for k in range(2, 2 + TERMS)],
    2.5: [(-1) ** k * (k - 1) * (k - 3) / 3 / factorial(k) for k in range(2, 2 + TERMS)],
}


@FAMILIES.register("matern")
@dataclass(frozen=True)
class MaternFamily(GeneratorFamily):
    """Matern kernels of the Euclidean distance, like scikit-learn's `gaussian_process.kernels.Matern`."""

    nu: tuple[float, ...] = parameter("smoothness: 0.5, 1.5 or 2.5, or a list of them", default=(1.5,))
    length_scale: tuple[float, ...] = parameter("unit of the distances; a value or a list", gt=0, default=(1.0,))

    def __post_init__(self) -> None:
        for nu in self.nu:
            if nu not in (0.5, 1.5, 2.5):
                raise ParameterError("nu", f"must be 0.5, 1.5 or 2.5; got {nu:g}")

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> MaternFamily(nu=(0.5,), length_scale=(1.0, 2.0)).names()
        ('matern(nu=0.5, length_scale=1)', 'matern(nu=0.5, length_scale=2)')
        """
        return tuple(
            f"matern(nu={format_number(nu)}, length_scale={format_number(length)})"
            for nu, length in product(self.nu, self.length_scale)
        )

    def wider(self) -> str:
        """Return which parameter makes samples more similar."""
        return "a larger length_scale"

    def narrower(self) -> str:
        """Return which parameter makes samples less similar."""
        return "a smaller length_scale"

    def shifts(self) -> tuple[float, ...]:
        """Return `K(x, x)` of each kernel, which is also the limit of wide kernels."""
        return (SHIFT,) * len(self.names())

    @classmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of distances."""
        squares = accurate_squared_distances(samples.features)

        def distances(rows: slice, columns: slice) -> Floats:
            block = squares(rows, columns)
            return np.sqrt(block, out=block)

        return distances

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from distances."""
        evaluators = [
            shifted_exponentials(rates) if nu == 0.5 else _smooth_kernels(nu, rates)
            for nu, rates in (
                (nu, [min(sqrt(2 * nu) / length, MAX_RATE) for length in self.length_scale]) for nu in self.nu
            )
        ]

        def evaluate(distances: Floats, out: Floats) -> None:
            for kernels, part in zip(evaluators, np.split(out, len(evaluators)), strict=True):
                kernels(distances, part)

        return evaluate


def _smooth_kernels(nu: float, rates: Sequence[float]) -> Evaluate:
    """Return a function that writes E for nu = 1.5 or 2.5 and `a = rate * distance`, for all rates."""
    chains = doubling_chains(rates)

    def evaluate(distances: Floats, out: Floats) -> None:
        for first, *others in chains:
            with np.errstate(over="ignore"):
                a = distances * rates[first]
            np.minimum(a, MAX_ARGUMENT, out=a)
            e = np.expm1(-a)
            wider = out[first]
            _write_widest(nu, a, e, wider)
            for index in others:
                narrower = out[index]
                np.add(wider, 2.0, out=narrower)
                narrower *= wider
                narrower -= _excess(nu, a, e)
                e *= e + 2.0
                a *= 2.0
                np.minimum(a, MAX_ARGUMENT, out=a)
                wider = narrower

    return evaluate


def _write_widest(nu: float, a: Floats, e: Floats, out: Floats) -> None:
    """Write E for any argument, from `e = exp(-a) - 1`."""
    np.negative(a, out=out)
    np.exp(out, out=out)  # more accurate than 1 + e if a is large
    out *= a
    if nu == 2.5:
        out *= a / 3.0 + 1.0
    out += e
    small = a < SMALL_ARGUMENT
    if small.any():
        few = a[small]
        out[small] = few**2 * np.polynomial.polynomial.polyval(few, SERIES[nu])


def _excess(nu: float, a: Floats, e: Floats) -> Floats:
    """Return `E(a) (E(a) + 2) - E(2a)`, which is positive."""
    squares = e + 1.0
    squares *= a
    squares *= squares
    if nu == 2.5:
        factor = a + 6.0
        factor *= a
        factor += 3.0
        factor /= 9.0
        squares *= factor
    return squares
