"""Divide the memory of a ridge path whose kernel is held in panels."""

from collections.abc import Mapping
from dataclasses import dataclass

from kernel_pipeline.tasks.learners.iterative_ridge import BLOCK_RATIO
from kernel_pipeline.tasks.learners.preconditioner import CANDIDATES
from kernel_pipeline.tasks.learners.ridge_cost import max_rank

FLOAT_BYTES = 8
# Number of panels in memory at a time. During a factorisation: the panel itself, an earlier one, a product and a copy;
# during iterations: the current panel and the next one.
FACTORISED_PANELS, ITERATED_PANELS = 4, 2
# Panels that a process needs besides those that it holds, if several processes hold them: while one is factorised, two
# earlier ones of other processes, a copy of one of them, and a product.
REMOTE_PANELS = 4
# Wider panels would be read less often, but leave less memory for those that are kept.
MAX_WIDTH = 1024
# Number of blocks of columns in memory during conjugate gradients: about seven in a step, copies when converged columns
# are removed, and all solutions. Number of copies of the columns from which a preconditioner is computed.
BLOCKS, COPIES_OF_CANDIDATES = 10, 4
# Usual limit on the number of Lanczos vectors.
LANCZOS_VECTORS = 300


@dataclass(frozen=True)
class PanelMemory:
    """Division of the memory of a fit in panels.

    It affects the last digits of results, so it is computed from sizes only, and is the same on all hosts.
    """

    width: int
    """Number of training samples in a panel."""
    kept_bytes: int
    """Size of the panels that are kept in memory if one process holds all; the others are in a temporary file."""
    samples: int = 0
    """Number of training samples."""
    other_bytes: int = 0
    """Bytes that a process needs besides the arrays of the solver."""

    @classmethod
    def of(
        cls, max_bytes: int, samples: int, row_samples: int, systems: int, other_bytes: int = 0
    ) -> "PanelMemory | None":
        """Divide the memory of a fit; None if it is too small for panels of one row of tiles.

        Parameters
        ----------
        row_samples
            Largest number of training samples in a row of tiles.
        systems
            Number of pairs of a ridge and an output.

        >>> PanelMemory.of(440 << 20, 12_000, 512, 16)
        PanelMemory(width=512, kept_bytes=213309440, samples=12000, other_bytes=0)
        >>> PanelMemory.of(100 << 20, 12_000, 512, 16) is None
        True
        """
        if max_bytes < cls.min_bytes(samples, row_samples):
            return None
        width = min(MAX_WIDTH, max_bytes // (2 * FACTORISED_PANELS * FLOAT_BYTES * samples))
        width = max(1, width // row_samples) * row_samples  # panels contain whole rows of tiles
        needed = cls(width, 0, samples).needed_bytes(systems)
        return cls(width, max(0, max_bytes - needed), samples, other_bytes)

    @property
    def panel_bytes(self) -> int:
        """Return the size of the largest panel."""
        return FLOAT_BYTES * self.samples * self.width

    @property
    def kernel_bytes(self) -> int:
        """Return the size of all panels of the kernel, which is that of its factor as well."""
        return FLOAT_BYTES * self.samples * (self.samples + self.width) // 2

    @property
    def file_bytes(self) -> int:
        """Return the size of the temporary file, with panels of the kernel and of its factor."""
        return max(0, 2 * self.kernel_bytes - self.kept_bytes)

    def needed_bytes(self, systems: int) -> int:
        """Return the bytes of all arrays of the solver, if one process holds all panels."""
        columns = min(systems, max(1, self.samples // BLOCK_RATIO)) * BLOCKS
        columns += max_rank(self.samples) + COPIES_OF_CANDIDATES * CANDIDATES
        iterated = ITERATED_PANELS * self.width + columns
        factorised = FACTORISED_PANELS * self.width + LANCZOS_VECTORS
        return self.kept_bytes + FLOAT_BYTES * self.samples * max(iterated, factorised)

    def shares(self, limits: Mapping[str, int], solver: str, systems: int) -> dict[str, int] | None:
        """Return the bytes of panels that each of several processes can hold.

        The factor replaces the kernel, so the processes hold only one of the two at a time.

        Parameters
        ----------
        limits
            Bytes that each process may use, by its name.
        solver
            Name of the process that also holds the vectors of the solver.

        Returns
        -------
        shares
            None if the processes cannot hold all panels together.

        >>> memory = PanelMemory.of(440 << 20, 12_000, 512, 16)
        >>> four = memory.shares(dict.fromkeys("abcd", 440 << 20), "a", 16)
        >>> [share >> 20 for share in four.values()]
        [109, 252, 252, 252]
        >>> memory.shares(dict.fromkeys("ab", 440 << 20), "a", 16) is None
        True
        """
        own = self.needed_bytes(systems) - self.kept_bytes - ITERATED_PANELS * self.panel_bytes
        found = {
            name: max(0, limit - self.other_bytes - REMOTE_PANELS * self.panel_bytes - (own if name == solver else 0))
            for name, limit in limits.items()
        }
        return found if sum(found.values()) >= self.kernel_bytes else None

    @staticmethod
    def min_bytes(samples: int, row_samples: int) -> int:
        """Return the minimum memory that a fit needs, in bytes."""
        return FACTORISED_PANELS * FLOAT_BYTES * samples * row_samples
