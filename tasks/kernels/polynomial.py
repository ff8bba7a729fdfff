"""Polynomial kernels."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Self

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import FAMILIES, Samples
from kernel_pipeline.tasks.kernels.generator import Evaluate, Generate, GeneratorFamily, format_number
from kernel_pipeline.tasks.kernels.inner_products import check_size, inner_products
from kernel_pipeline.tasks.parameters import parameter


@FAMILIES.register("polynomial")
@dataclass(frozen=True)
class PolynomialFamily(GeneratorFamily):
    """Polynomial kernels (gamma x.z + coef0)^degree, like scikit-learn's `polynomial_kernel`.

    The stored values are `E = K - coef0^degree`. They are computed degree by degree, without cancellation if gamma x.z
    is small: with `u = gamma x.z`, `E_1 = u` and `E_{n+1} = E_n (u + coef0) + coef0^n u`.
    """

    degree: tuple[int, ...] = parameter("degree of the polynomial; a value or a list", ge=1, le=20, default=(3,))
    gamma: tuple[float, ...] | None = parameter(
        "factor of the inner products; a value or a list; default: 1 / number of features", gt=0, default=None
    )
    coef0: tuple[float, ...] = parameter("constant term; a value or a list", ge=0, le=1e6, default=(1.0,))

    def names(self) -> tuple[str, ...]:
        """Return one name per kernel.

        >>> PolynomialFamily(degree=(2,), gamma=(0.5,)).names(), PolynomialFamily().names()
        (('polynomial(degree=2, gamma=0.5, coef0=1)',), ('polynomial(degree=3, gamma=1/d, coef0=1)',))
        """
        gammas = ("1/d",) if self.gamma is None else map(format_number, self.gamma)
        return tuple(
            f"polynomial(degree={degree}, gamma={gamma}, coef0={format_number(coef0)})"
            for degree, gamma, coef0 in product(self.degree, gammas, self.coef0)
        )

    def shifts(self) -> tuple[float, ...]:
        """Return coef0^degree of each kernel, its value for samples whose inner product is 0."""
        gammas = self.gamma or (1.0,)
        return tuple(coef0**degree for degree, _, coef0 in product(self.degree, gammas, self.coef0))

    def check(self, samples: Samples, columns: Sequence[str]) -> None:
        """Raise an `UnsuitableFeaturesError` if kernel values are too large to compute with."""
        gamma = max(self.fitted(samples).gamma or ())
        check_size("polynomial", samples, gamma, max(self.coef0), max(self.degree))

    def fitted(self, samples: Samples) -> Self:
        """Return the family with the default of gamma replaced by its value, 1 / number of features."""
        return self if self.gamma is not None else replace(self, gamma=(1.0 / samples.features.shape[1],))

    @classmethod
    def generator(cls, families: Sequence[Self], samples: Samples) -> Generate:
        """Return a function that computes blocks of inner products."""
        return inner_products(samples.features)

    def evaluator(self) -> Evaluate:
        """Return a function that computes all kernels from inner products."""
        gammas = self.gamma or ()
        shape = len(self.degree), len(gammas), len(self.coef0)

        def evaluate(products: Floats, out: Floats) -> None:
            kernels = out.reshape(*shape, *products.shape)
            for i, gamma in enumerate(gammas):
                scaled = gamma * products
                for j, coef0 in enumerate(self.coef0):
                    _write_degrees(scaled, coef0, self.degree, kernels[:, i, j])

        return evaluate


def _write_degrees(scaled: Floats, coef0: float, degrees: Sequence[int], out: Floats) -> None:
    """Write `E = (scaled + coef0)^degree - coef0^degree` for each degree."""
    power, base = scaled.copy(), scaled + coef0
    for degree in range(1, max(degrees) + 1):
        if degree in degrees:
            out[degrees.index(degree)] = power
        power *= base
        power += coef0**degree * scaled
