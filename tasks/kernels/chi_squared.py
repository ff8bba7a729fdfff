"""Chi-squared kernels of nonnegative features, such as histograms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.exponentials import SHIFT, shifted_exponentials
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples, UnsuitableFeaturesError
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.parameters import parameter


@FAMILIES.register("chi-squared")
@dataclass(frozen=True)
class ChiSquaredFamily(GeneratorFamily):
    """Chi-squared kernels exp(-gamma sum_i (x_i - z_i)^2 / (x_i + z_i)), like scikit-learn's `chi2_kernel`."""

    gamma: tuple[float, ...] = parameter("factor of the distances; a value or a list", gt=0, default=(1.0,))

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> ChiSquaredFamily(gamma=(0.5, 1.0)).names()
        ('chi-squared(0.5)', 'chi-squared(1)')
        """
        return tuple(f"chi-squared({format_number(gamma)})" for gamma in self.gamma)

    def wider(self) -> str:
        """Return which parameter makes samples more similar."""
        return "a smaller gamma"

    def narrower(self) -> str:
        """Return which parameter makes samples less similar."""
        return "a larger gamma"

    def shifts(self) -> tuple[float, ...]:
        """Return `K(x, x)` of each kernel, which is also the limit of wide kernels."""
        return (SHIFT,) * len(self.names())

    def check(self, samples: Samples, columns: Sequence[str]) -> None:
        """Raise an `UnsuitableFeaturesError` that names the first column with a negative value."""
        smallest = samples.features.min(axis=0)
        negative = np.flatnonzero(smallest < 0)
        if len(negative):
            first = negative[0]
            below, fix = "", "scale = 'minmax'"
            if samples.fitted_on is not None:
                fix = "scale = 'minmax' with fit_on = 'all'"
                if samples.reference[:, first].min() >= 0:
                    below = ": samples outside of a training set lie below the minimum of the training set"
            raise UnsuitableFeaturesError(
                f"family 'chi-squared' requires features that are not negative; column {columns[first]!r} contains "
                f"{smallest[first]:g} ({len(negative)} of {len(columns)} columns contain negative values){below}. "
                f"Choose other columns, or set {fix}"
            )

    @classmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of the distances `sum_i (x_i - z_i)^2 / (x_i + z_i)`."""
        by_column = np.ascontiguousarray(samples.features.T)
        tiny = np.finfo(np.float64).tiny  # makes the ratio 0 if both features are 0

        def distances(rows: slice, columns: slice) -> Floats:
            x, z = by_column[:, rows, None], by_column[:, None, columns]
            total = np.zeros((x.shape[1], z.shape[2]))
            difference, ratio = np.empty_like(total), np.empty_like(total)
            for left, right in zip(x, z, strict=True):
                np.subtract(left, right, out=difference)
                np.add(np.maximum(left, tiny), right, out=ratio)
                np.divide(difference, ratio, out=ratio)
                ratio *= difference
                total += ratio
            return total

        return distances

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from chi-squared distances."""
        return shifted_exponentials(self.gamma)
