"""Rational quadratic kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Self

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import accurate_squared_distances
from kernel_pipeline.tasks.kernels.exponentials import MAX_RATE, SHIFT
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.parameters import parameter


@FAMILIES.register("rational-quadratic")
@dataclass(frozen=True)
class RationalQuadraticFamily(GeneratorFamily):
    """Rational quadratic kernels (1 + ||x - z||^2 / (2 alpha length_scale^2))^-alpha.

    The parameters are those of scikit-learn's `gaussian_process.kernels.RationalQuadratic`.
    """

    length_scale: tuple[float, ...] = parameter("unit of the distances; a value or a list", gt=0, default=(1.0,))
    alpha: tuple[float, ...] = parameter("exponent; a value or a list", gt=0, default=(1.0,))

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> RationalQuadraticFamily(length_scale=(0.5,), alpha=(1.0,)).names()
        ('rational-quadratic(length_scale=0.5, alpha=1)',)
        """
        return tuple(
            f"rational-quadratic(length_scale={format_number(length)}, alpha={format_number(alpha)})"
            for length, alpha in product(self.length_scale, self.alpha)
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
        """Return a function that computes blocks of squared distances."""
        return accurate_squared_distances(samples.features)

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from squared distances."""

        def evaluate(distances: Floats, out: Floats) -> None:
            for kernel, (length, alpha) in zip(out, product(self.length_scale, self.alpha), strict=True):
                rate = min(0.5 / alpha / length / length, MAX_RATE)
                with np.errstate(over="ignore"):  # an infinite ratio is a kernel value of 0
                    np.multiply(distances, rate, out=kernel)
                np.log1p(kernel, out=kernel)
                kernel *= -alpha
                np.expm1(kernel, out=kernel)

        return evaluate
