"""Rows of a kernel in memory, for tests of solvers that need only some rows of a kernel."""

from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class SquareRows:
    """Rows of a kernel in memory.

    Parameters
    ----------
    kernel
        (n, n); it is not copied.
    chosen
        Samples whose kernel is used; None for all.
    """

    kernel: Floats
    chosen: Integers | None = None

    @property
    def n_columns(self) -> int:
        """Return the number of samples."""
        return len(self.kernel) if self.chosen is None else len(self.chosen)

    def rows(self, indices: Integers) -> Floats:
        """Return copies of rows."""
        if self.chosen is None:
            return self.kernel[indices]
        return self.kernel[np.ix_(self.chosen[indices], self.chosen)]

    def only(self, samples: Integers) -> "SquareRows":
        """Return the kernel of some samples, which is copied row by row when it is used."""
        return SquareRows(self.kernel, samples if self.chosen is None else self.chosen[samples])
