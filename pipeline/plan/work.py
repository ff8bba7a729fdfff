"""Define the work of a task in operations and bytes, and the rates at which a machine performs it."""

from dataclasses import dataclass

# Time to store or read a byte, relative to copying it in memory: copies, encoding, checksums and system calls.
PASSES_PER_STORED_BYTE = 30.0
# Time to open, check and close one stored chunk, and fixed time of a task apart from its arrays.
SECONDS_PER_FILE = 0.0003
SECONDS_PER_TASK = 0.005


@dataclass(frozen=True)
class Work:
    """The work of one task. It follows from sizes alone."""

    flops: float = 0.0
    """Floating-point operations at the rate of matrix products; slower operations count more than once."""
    entries: float = 0.0
    """Entries of base kernels that are computed."""
    stored_bytes: float = 0.0
    """Bytes of arrays that are read or written."""
    files: float = 0.0
    """Chunks that are read or written."""

    def __add__(self, other: "Work") -> "Work":
        return Work(
            self.flops + other.flops,
            self.entries + other.entries,
            self.stored_bytes + other.stored_bytes,
            self.files + other.files,
        )

    def __mul__(self, factor: float) -> "Work":
        return Work(factor * self.flops, factor * self.entries, factor * self.stored_bytes, factor * self.files)


@dataclass(frozen=True)
class Rates:
    """The speed of one core, per second."""

    flops: float
    """Operations of matrix products."""
    entries: float
    """Entries of Gaussian kernels that are computed."""
    memory_bytes: float
    """Bytes that are copied in memory."""

    def seconds(self, work: Work) -> float:
        """Return the time that a task needs on one core.

        >>> round(Rates(1e9, 1e8, 3e10).seconds(Work(2e9, 1e8, 1e9, 10)), 3)
        4.008
        """
        return (
            work.flops / self.flops
            + work.entries / self.entries
            + PASSES_PER_STORED_BYTE * work.stored_bytes / self.memory_bytes
            + SECONDS_PER_FILE * work.files
            + SECONDS_PER_TASK
        )


REFERENCE = Rates(flops=48e9, entries=8e8, memory_bytes=2e10)
"""Rates of the machine on which the costs were measured; a run scales them by the times of its finished tasks."""
