"""Check that tables of samples, and kernel matrices, fit into memory."""

from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.text import format_bytes

SMALL_TABLE_BYTES = 256 << 20
"""Sizes up to this one are not checked, because importing the memory limit is slow."""
TABLE_COPIES = 4
"""Copies of a table in memory: as read, encoded, sampled, and in fold order."""


def check_table(rows: int, columns: int, dataset: str) -> None:
    """Check that a table of samples fits into memory, before it is created.

    Raises
    ------
    TooLargeError
        If the table and its copies need more memory than this machine has.
    """
    needed = FLOAT_BYTES * rows * columns * TABLE_COPIES
    if (limit := exceeded_memory(needed)) is not None:
        raise TooLargeError(
            f"dataset {dataset!r}: preparing {rows:,} rows with {columns:,} features needs about "
            f"{format_bytes(needed)} of memory, but this machine has {format_bytes(limit)}. Choose fewer rows or "
            "features"
        )


def exceeded_memory(needed: int) -> int | None:
    """Return the memory limit of this machine in bytes if it is below what is needed, and None otherwise."""
    if needed <= SMALL_TABLE_BYTES:
        return None
    from distributed.system import MEMORY_LIMIT

    return MEMORY_LIMIT if needed > MEMORY_LIMIT else None
