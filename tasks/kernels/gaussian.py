"""Gaussian kernels with bandwidths that double.

Everything is computed and stored as `E = K - 1`: centering ignores the shift (Lemma 1 of the paper), and `E` keeps all
its digits where gamma is tiny and `K` itself would cancel.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import direct_columns, prepare_features, squared_distances
from kernel_pipeline.tasks.kernels.family import FAMILIES, Fill, FillEach, GramFamily
from kernel_pipeline.tasks.parameters import ParameterError, parameter

# K = E + SHIFT.
SHIFT = 1.0
# Number of columns that a note names; there may be very many.
NAMED_COLUMNS = 5


@FAMILIES.register("gaussian")
@dataclass(frozen=True)
class GaussianFamily(GramFamily):
    """Gaussian kernels exp(-gamma ||x - z||^2) with gamma = 2 ** (lo..hi)."""

    log2_gamma: tuple[int, int] = parameter("[lo, hi], both included", ge=-1000, le=1000)

    def __post_init__(self) -> None:
        low, high = self.log2_gamma
        if low > high:
            raise ParameterError("log2_gamma", f"[{low}, {high}] is backwards; write [{high}, {low}]")

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel, from the widest to the narrowest.

        >>> GaussianFamily(log2_gamma=(-1, 1)).names()
        ('gaussian(2^-1)', 'gaussian(2^0)', 'gaussian(2^1)')
        """
        low, high = self.log2_gamma
        return tuple(f"gaussian(2^{exponent})" for exponent in range(low, high + 1))

    @property
    def shift(self) -> float:
        """The value of `K(x, x)`, which is also the limit of wide kernels."""
        return SHIFT

    def prepare(self, features: Floats) -> Fill:
        """Return a function that computes blocks of this family alone."""
        fill_each = self.prepare_together([self], features)
        return lambda rows, columns, out: fill_each(rows, columns, [out])

    @classmethod
    def prepare_together(cls, families: Sequence[Self], features: Floats) -> FillEach:
        """Return a function that computes blocks of all families from one set of squared distances."""
        prepared, direct = prepare_features(features, _largest_gamma(families))
        exponents = [family.log2_gamma for family in families]

        def fill_each(rows: slice, columns: slice, outs: Sequence[Floats]) -> None:
            x = prepared[rows]
            z = x if rows == columns else prepared[columns]
            distances = squared_distances(x, z, direct)
            for log2_gamma, out in zip(exponents, outs, strict=True):
                shifted_kernels(distances, log2_gamma, out)

        return fill_each

    @classmethod
    def notes_together(cls, families: Sequence[Self], features: Floats, columns: Sequence[str]) -> tuple[str, ...]:
        """Return a note that names the columns whose differences are computed directly, if there are any."""
        direct = direct_columns(features, _largest_gamma(families))
        if not len(direct):
            return ()
        named = ", ".join(repr(columns[column]) for column in direct[:NAMED_COLUMNS])
        more = f" and {len(direct) - NAMED_COLUMNS:,} more" if len(direct) > NAMED_COLUMNS else ""
        return (
            f"columns {named}{more}: their values are so large, compared with most distances or the width of a kernel, "
            "that squared norms would cancel; their differences are computed directly, which is slower",
        )


def _largest_gamma(families: Sequence[GaussianFamily]) -> float:
    return float(2.0 ** max(family.log2_gamma[1] for family in families))


def shifted_kernels(distances: Floats, log2_gamma: Sequence[int], out: Floats) -> None:
    """Write `E_k = exp(-gamma_k d^2) - 1` for gamma = 2^lo .. 2^hi into `out`, (p, *distances.shape).

    One `expm1` is enough for the whole family, since `E_{2 gamma} = E_gamma (E_gamma + 2)`.
    """
    with np.errstate(over="ignore"):  # a kernel that overflows here is 0 at that distance
        np.multiply(distances, -(2.0 ** log2_gamma[0]), out=out[0])
    np.expm1(out[0], out=out[0])
    for narrower, wider in zip(out[1:], out[:-1], strict=True):
        np.add(wider, 2.0, out=narrower)
        narrower *= wider
