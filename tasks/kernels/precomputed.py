"""Define precomputed kernels: their parameters in a config, and the family that reads them in a run."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.kernels.family import FAMILIES, Family, Fill, GramFamily, Samples
from kernel_pipeline.tasks.parameters import parameter


@FAMILIES.register("precomputed")
@dataclass(frozen=True)
class PrecomputedFamily(Family):
    """Kernels from a file: one matrix (m, m) or several (p, m, m), with one row and column per row of the source."""

    needs_features: ClassVar[bool] = False
    example: ClassVar[Mapping[str, Any]] = {"path": "kernel.npy"}

    path: str = parameter(
        "npy, npz or zarr file, relative to --data-dir, else to PIPELINE_DATA_DIR, else to the directory of the config"
    )
    psd: Literal["clip"] | None = parameter(
        "'clip' replaces a matrix that is not positive semi-definite by its positive part; default: an error",
        default=None,
    )


@dataclass(frozen=True)
class StoredFamily(GramFamily):
    """The kernels of a file, which the run has stored in fold order.

    Examples
    --------
    >>> StoredFamily("string", first=0, constants=(0.0, 0.0)).names()
    ('string(0)', 'string(1)')
    """

    name: str
    first: int
    """Index of the first of these kernels among all precomputed kernels of the dataset."""
    constants: tuple[float, ...]
    """The shift of each kernel."""

    @property
    def count(self) -> int:
        """Number of kernels."""
        return len(self.constants)

    def names(self) -> tuple[str, ...]:
        """Return the name of the only kernel, or numbered names."""
        return (self.name,) if self.count == 1 else tuple(f"{self.name}({number})" for number in range(self.count))

    def shifts(self) -> tuple[float, ...]:
        """Return the shift of each kernel."""
        return self.constants

    def prepare(self, samples: Samples) -> Fill:
        """Return a function that copies blocks of the stored kernels."""
        blocks, own = samples.blocks, slice(self.first, self.first + self.count)
        if blocks is None:
            raise ValueError("these samples have no precomputed kernels")
        shifts = np.array(self.constants)[:, None, None]

        def fill(rows: slice, columns: slice, out: Floats) -> None:
            np.subtract(blocks(own, rows, columns), shifts, out=out)

        return fill


def exact_shift(smallest: float, largest: float) -> float:
    """Return a shift that can be subtracted from a kernel without rounding, given its smallest and largest entry.

    Centering an almost constant kernel loses precision unless the constant is subtracted first. If all entries lie
    within a factor of two, their differences from the largest one are exact (Sterbenz' lemma).

    >>> exact_shift(0.75, 1.0), exact_shift(0.25, 1.0)
    (1.0, 0.0)
    """
    return largest if 0.0 < largest <= 2.0 * smallest else 0.0
