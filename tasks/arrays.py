"""The array types that the mathematics speaks, and the one check that all of it needs."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def require_finite(name: str, *arrays: Floats) -> None:
    """Refuse arrays with NaN or infinity; solvers answer those with numbers that look like results."""
    if not all(np.isfinite(array).all() for array in arrays):
        raise ValueError(f"{name} must be finite")
