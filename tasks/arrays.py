"""Define array types, the size of their numbers, and the check for finite values."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]
FLOAT_BYTES = 8
"""Size in bytes of one number in `Floats`."""


def require_finite(name: str, *arrays: Floats) -> None:
    """Raise a ValueError if an array contains NaN or infinity, for which solvers may return wrong results."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(f"{name} must be finite; found NaN or infinity")
