"""Divide the memory of a ridge path whose kernel is held in panels."""

from dataclasses import dataclass

from kernel_pipeline.tasks.learners.iterative_ridge import BLOCK_RATIO
from kernel_pipeline.tasks.learners.preconditioner import CANDIDATES
from kernel_pipeline.tasks.learners.ridge_cost import max_rank

FLOAT_BYTES = 8
# Number of panels in memory at a time. During a factorisation: the panel itself, an earlier one, a product and a copy;
# during iterations: the current panel and the next one.
FACTORISED_PANELS, ITERATED_PANELS = 4, 2
# Wider panels would be read less often, but leave less memory for those that are kept.
MAX_WIDTH = 1024
# Blocks of columns of conjugate gradients, and copies of the columns from which a preconditioner is computed.
BLOCKS, COPIES_OF_CANDIDATES = 10, 4
# Usual limit of the number of Lanczos vectors.
LANCZOS_VECTORS = 300


@dataclass(frozen=True)
class PanelMemory:
    """The memory of a fit in panels; it depends on sizes only, because it affects the last digits of results."""

    width: int
    """Number of training samples in a panel."""
    kept_bytes: int
    """Size of the panels that are kept in memory; the others are written to a temporary file."""

    @classmethod
    def of(cls, max_bytes: int, samples: int, tile: int, systems: int) -> "PanelMemory | None":
        """Divide the memory of a fit; None if it is too small for panels of one row of tiles.

        Parameters
        ----------
        tile
            Largest number of training samples in a row of tiles.
        systems
            Number of pairs of a ridge and an output.

        >>> PanelMemory.of(440 << 20, 12_000, 512, 16)
        PanelMemory(width=600, kept_bytes=196413440)
        >>> PanelMemory.of(100 << 20, 12_000, 512, 16) is None
        True
        """
        if max_bytes < cls.smallest(samples, tile):
            return None
        width = max(tile, min(MAX_WIDTH, max_bytes // (2 * FACTORISED_PANELS * FLOAT_BYTES * samples)))
        return cls(width, max(0, max_bytes - cls(width, 0).needed(samples, systems)))

    def needed(self, samples: int, systems: int) -> int:
        """Return the bytes of all arrays of the solver."""
        columns = min(systems, max(1, samples // BLOCK_RATIO)) * BLOCKS
        columns += max_rank(samples) + COPIES_OF_CANDIDATES * CANDIDATES
        iterated = ITERATED_PANELS * self.width + columns
        factorised = FACTORISED_PANELS * self.width + LANCZOS_VECTORS
        return self.kept_bytes + FLOAT_BYTES * samples * max(iterated, factorised)

    @staticmethod
    def smallest(samples: int, tile: int) -> int:
        """Return the smallest memory of a fit, in bytes."""
        return FACTORISED_PANELS * FLOAT_BYTES * samples * tile
