"""Inner products of samples, for kernels that are functions of them."""

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import Samples, UnsuitableFeaturesError
from kernel_pipeline.tasks.kernels.generator import Generate
from kernel_pipeline.tasks.kernels.guard import MAX_VALUE


def inner_products(features: Floats) -> Generate:
    """Return a function that computes blocks of inner products; blocks on the diagonal are exactly symmetric."""

    def products(rows: slice, columns: slice) -> Floats:
        x = features[rows]
        return np.asarray(x @ (x if rows == columns else features[columns]).T)

    return products


def check_size(family: str, samples: Samples, gamma: float = 1.0, coef0: float = 0.0, degree: int = 1) -> None:
    """Raise an `UnsuitableFeaturesError` if the kernel `(gamma x.z + coef0)^degree` is too large to compute with."""
    with np.errstate(over="ignore"):
        squares = np.einsum("ij,ij->i", samples.features, samples.features).max()
        largest = (gamma * squares + coef0) ** degree
    if not largest <= MAX_VALUE:
        raise UnsuitableFeaturesError(
            f"family {family!r}: kernel values reach {largest:.2g}; above {MAX_VALUE:g}, sums of their "
            "squares may overflow. Scale the features, for example with scale = 'standard'"
        )
