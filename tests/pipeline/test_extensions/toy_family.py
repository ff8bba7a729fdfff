"""A kernel family in one file, as a user would write it: polynomial kernels, whose diagonals are not constant."""

from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Fill, GramFamily, Samples
from kernel_pipeline.tasks.parameters import ParameterError, parameter


@dataclass(frozen=True)
class ToyFamily(GramFamily):
    """Polynomial kernels (scale x.z + 1)^degree."""

    degrees: tuple[int, ...] = parameter("degrees of the kernels", ge=1, le=6)
    scale: float = parameter("factor of the inner products", ge=0, default=0.1)

    def __post_init__(self) -> None:
        if list(self.degrees) != sorted(set(self.degrees)):
            raise ParameterError("degrees", f"{list(self.degrees)} must be ascending")

    def names(self) -> tuple[str, ...]:
        """Return one name per degree."""
        return tuple(f"toy-polynomial({degree})" for degree in self.degrees)

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of all kernels."""
        features = samples.features

        def fill(rows: slice, columns: slice, out: Floats) -> None:
            products = self.scale * (features[rows] @ features[columns].T) + 1.0
            for degree, kernel in zip(self.degrees, out, strict=True):
                np.power(products, degree, out=kernel)

        return fill
