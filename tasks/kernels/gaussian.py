"""Gaussian kernels with arbitrary bandwidths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import direct_columns, prepare_features, squared_distances
from kernel_pipeline.tasks.kernels.exponentials import MAX_RATE, SHIFT, shifted_exponentials
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.listing import list_first
from kernel_pipeline.tasks.parameters import ParameterError, parameter

# Maximum number of columns that a note lists.
MAX_LISTED_COLUMNS = 5
# Maximum number of samples whose distances the median heuristic uses.
MEDIAN_SAMPLES = 1000
# Gamma of the median heuristic if there is no median distance.
GAMMA_OF_EQUAL_SAMPLES = 1.0


@FAMILIES.register("gaussian")
@dataclass(frozen=True)
class GaussianFamily(GeneratorFamily):
    """Gaussian kernels exp(-gamma ||x - z||^2); gamma = 2 ** (lo..hi), or a list of values.

    `gamma = "median"` is the median heuristic: 1 / (2 s^2), where s is the median distance between distinct samples.
    """

    example: ClassVar[Mapping[str, Any]] = {"gamma": "median"}

    log2_gamma: tuple[int, int] | None = parameter(
        "[lo, hi] for gamma = 2 ** lo, ..., 2 ** hi", ge=-1000, le=1000, default=None
    )
    gamma: tuple[float | Literal["median"], ...] | None = parameter(
        "values instead of log2_gamma; 'median' for the median heuristic", gt=0, default=None
    )

    def __post_init__(self) -> None:
        if (self.log2_gamma is None) == (self.gamma is None):
            raise ParameterError(
                "log2_gamma",
                "write either log2_gamma = [lo, hi], for gamma = 2 ** (lo..hi), or gamma = a value or a list; "
                + ("both are missing" if self.gamma is None else "both are given"),
            )
        if self.log2_gamma is not None and self.log2_gamma[0] > self.log2_gamma[1]:
            low, high = self.log2_gamma
            raise ParameterError("log2_gamma", f"[{low}, {high}] is backwards; write [{high}, {low}]")

    @classmethod
    def powers_of_two(cls, low: int, high: int) -> Self:
        """Return the family with gamma = 2 ** low, ..., 2 ** high.

        >>> GaussianFamily.powers_of_two(-1, 1).gammas()
        (0.5, 1.0, 2.0)
        """
        return cls(log2_gamma=(low, high))

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> GaussianFamily(log2_gamma=(-1, 1)).names()
        ('gaussian(2^-1)', 'gaussian(2^0)', 'gaussian(2^1)')
        >>> GaussianFamily(gamma=(0.01, "median")).names()
        ('gaussian(0.01)', 'gaussian(median)')
        """
        if self.gamma is not None:
            return tuple(f"gaussian({value if value == 'median' else format_number(value)})" for value in self.gamma)
        return tuple(f"gaussian(2^{exponent})" for exponent in self._exponents())

    def wider(self) -> str:
        """Return which parameter makes samples more similar."""
        return "a smaller gamma"

    def narrower(self) -> str:
        """Return which parameter makes samples less similar."""
        return "a larger gamma"

    def shifts(self) -> tuple[float, ...]:
        """Return `K(x, x)` of each kernel, which is also the limit of wide kernels."""
        return (SHIFT,) * len(self.names())

    def fitted_steps(self) -> tuple[str, ...]:
        """Return `gamma = 'median'`, if it is used, since the median distance depends on the samples."""
        return ("gamma = 'median'",) if self.gamma is not None and "median" in self.gamma else ()

    def fitted(self, samples: Samples) -> Self:
        """Return the family with "median" replaced by its value for these samples."""
        if self.gamma is None or "median" not in self.gamma:
            return self
        median = median_gamma(samples.reference)
        return replace(self, gamma=tuple(median if value == "median" else value for value in self.gamma))

    def gammas(self) -> tuple[float, ...]:
        """Return the gamma of each kernel of a fitted family."""
        if self.gamma is not None:
            return tuple(float(value) for value in self.gamma)
        return tuple(2.0**exponent for exponent in self._exponents())

    def _exponents(self) -> range:
        assert self.log2_gamma is not None, "either log2_gamma or gamma is given"
        return range(self.log2_gamma[0], self.log2_gamma[1] + 1)

    @classmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of squared distances."""
        prepared, direct = prepare_features(samples.features, _largest_gamma(families))

        def distances(rows: slice, columns: slice) -> Floats:
            x = prepared[rows]
            return squared_distances(x, x if rows == columns else prepared[columns], direct)

        return distances

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from squared distances."""
        return shifted_exponentials(self.gammas())

    @classmethod
    def notes_together(cls, families: Sequence[Self], samples: Samples, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the gamma of the median heuristic, and the columns whose differences are computed directly."""
        notes = []
        fitted = [family.fitted(samples) for family in families]
        for family, fitted_family in zip(families, fitted, strict=True):
            if fitted_family is not family:
                gamma = dict(zip(family.names(), fitted_family.gammas(), strict=True))["gaussian(median)"]
                notes.append(_median_note(gamma, samples.reference, _list_columns(range(len(columns)), columns)))
        direct = direct_columns(samples.features, _largest_gamma(fitted))
        if len(direct):
            notes.append(
                f"{_list_columns(direct.tolist(), columns)}: their values are so large, compared with most distances "
                "or the width of a kernel, that squared norms would cancel; their differences are computed directly, "
                "which is slower"
            )
        return tuple(notes)


def _largest_gamma(families: Sequence[GaussianFamily]) -> float:
    return max(gamma for family in families for gamma in family.gammas())


def _median_note(gamma: float, features: Floats, columns: str) -> str:
    """Return the note about the gamma of the median heuristic on some samples, given a description of their columns."""
    if gamma == GAMMA_OF_EQUAL_SAMPLES and _median_distance(features) is None:
        return (
            f"gaussian(median): gamma = {gamma:g}, since all samples are equal in {columns}: no distance is above 0, "
            "so that there is no median; choose other columns, or leave this kernel out"
        )
    distance = (2.0 * gamma) ** -0.5
    return f"gaussian(median): gamma = {gamma:.6g}, from the median distance {distance:.6g} of samples in {columns}"


def _list_columns(chosen: Sequence[int], columns: Sequence[str]) -> str:
    """Return the names of columns for a note; only the first ones if there are many."""
    return f"columns {list_first([repr(columns[column]) for column in chosen], MAX_LISTED_COLUMNS)}"


def median_gamma(features: Floats) -> float:
    """Return the gamma of the median heuristic, `1 / (2 s^2)`.

    s is the median Euclidean distance over all pairs of distinct samples. If there are more than `MEDIAN_SAMPLES`
    samples, this number of evenly spaced ones is used. If all samples are equal, every gamma gives the same kernel, and
    1 is returned.

    Examples
    --------
    >>> median_gamma(np.array([[0.0], [1.0], [3.0], [3.0]]))
    0.125
    """
    median = _median_distance(features)
    if median is None:
        return GAMMA_OF_EQUAL_SAMPLES
    return min(max(0.5 / median / median, 1.0 / MAX_RATE), MAX_RATE)


def _median_distance(features: Floats) -> float | None:
    """Return the median distance of the median heuristic; None if all distances are 0."""
    from scipy.spatial.distance import pdist  # imported here, since few sweeps need it

    if len(features) > MEDIAN_SAMPLES:
        features = features[np.linspace(0, len(features) - 1, MEDIAN_SAMPLES).astype(np.int64)]
    distances = pdist(features)
    distances = distances[distances > 0]
    return float(np.median(distances)) if len(distances) else None
