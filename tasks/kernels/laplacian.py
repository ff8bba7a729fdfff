"""Laplacian kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

from kernel_pipeline.tasks.kernels.exponentials import SHIFT, shifted_exponentials
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.parameters import parameter


@FAMILIES.register("laplacian")
@dataclass(frozen=True)
class LaplacianFamily(GeneratorFamily):
    """Laplacian kernels exp(-gamma ||x - z||_1), like scikit-learn's `laplacian_kernel`."""

    gamma: tuple[float, ...] | None = parameter(
        "factor of the distances; a value or a list; default: 1 / number of features", gt=0, default=None
    )

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> LaplacianFamily(gamma=(0.5, 1.0)).names(), LaplacianFamily().names()
        (('laplacian(0.5)', 'laplacian(1)'), ('laplacian(1/d)',))
        """
        return (
            ("laplacian(1/d)",) if self.gamma is None else tuple(f"laplacian({format_number(g)})" for g in self.gamma)
        )

    def wider(self) -> str:
        """Return which parameter makes samples more similar."""
        return "a smaller gamma"

    def narrower(self) -> str:
        """Return which parameter makes samples less similar."""
        return "a larger gamma"

    def shifts(self) -> tuple[float, ...]:
        """Return `K(x, x)` of each kernel, which is also the limit of wide kernels."""
        return (SHIFT,) * len(self.names())

    def fitted(self, samples: Samples) -> Self:
        """Return the family with the default of gamma replaced by its value, 1 / number of features."""
        return self if self.gamma is not None else replace(self, gamma=(1.0 / samples.features.shape[1],))

    @classmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of L1 distances."""
        from scipy.spatial.distance import cdist  # imported here, since few sweeps need it

        features = samples.features
        return lambda rows, columns: cdist(features[rows], features[columns], "cityblock")

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from L1 distances."""
        return shifted_exponentials(self.gamma or ())
