"""The cosine kernel."""

from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.distances import accurate_squared_distances
from kernel_pipeline.tasks.kernels.exponentials import SHIFT
from kernel_pipeline.tasks.kernels.family import FAMILIES, Fill, GramFamily, Samples


@FAMILIES.register("cosine")
@dataclass(frozen=True)
class CosineFamily(GramFamily):
    """The cosine kernel x.z / (||x|| ||z||), like scikit-learn's `cosine_similarity`; 0 for zero vectors.

    The stored values are `E = K - 1 = -||u - v||^2 / 2` of the unit vectors u and v, which is accurate even if samples
    have almost the same direction.
    """

    def names(self) -> tuple[str, ...]:
        """Return the name of the kernel."""
        return ("cosine",)

    def shifts(self) -> tuple[float, ...]:
        """Return the value of `K(x, x)` for samples other than zero vectors."""
        return (SHIFT,)

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that computes blocks of the kernel."""
        sizes = np.abs(samples.features).max(axis=1, keepdims=True)
        zero = sizes[:, 0] == 0
        units = samples.features / np.where(sizes == 0, 1.0, sizes)  # avoids overflow and underflow of squares
        units[~zero] /= np.linalg.norm(units[~zero], axis=1, keepdims=True)
        squares = accurate_squared_distances(units)

        def fill(rows: slice, columns: slice, out: Floats) -> None:
            np.multiply(squares(rows, columns), -0.5, out=out[0])
            out[0, zero[rows]] = -SHIFT
            out[0, :, zero[columns]] = -SHIFT

        return fill
