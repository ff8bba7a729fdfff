"""Scale feature columns."""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats


@dataclass(frozen=True)
class Scaling:
    """Offsets and widths of all columns, fitted to some samples and applied to any."""

    constant: Booleans
    """Columns that are constant on the samples of the fit; they become 0."""
    offset: Floats
    largest: Floats
    """Largest distance from the offset; dividing by it first avoids underflow of squares in the standard deviation."""
    width: Floats
    """Standard deviation or range of each column after this division."""

    @classmethod
    def fit(cls, features: Floats, how: Literal["standard", "minmax"]) -> Self:
        """Compute offsets and widths from samples: mean and standard deviation, or minimum and range.

        Examples
        --------
        >>> known, new = np.array([[1.0, 7.0], [3.0, 7.0]]), np.array([[2.0, 8.0]])
        >>> Scaling.fit(known, "minmax").apply(new).tolist()
        [[0.5, 0.0]]
        """
        constant = np.ptp(features, axis=0) == 0
        offset = features.mean(axis=0) if how == "standard" else features.min(axis=0)
        shifted = features - offset
        largest = np.where(constant, 1.0, np.abs(shifted).max(axis=0))
        shifted /= largest
        width = shifted.std(axis=0) if how == "standard" else shifted.max(axis=0)
        return cls(constant, offset, largest, np.where(constant, 1.0, width))

    def apply(self, features: Floats) -> Floats:
        """Return the scaled columns of any samples."""
        shifted = features - self.offset
        shifted /= self.largest
        shifted /= self.width
        return np.where(self.constant, 0.0, shifted)
