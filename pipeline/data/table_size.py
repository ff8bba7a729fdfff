"""Memory limit for tables of samples."""

from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.text import format_bytes

FLOAT_BYTES = 8
SMALL_TABLE_BYTES = 256 << 20
"""Tables up to this size are not checked, because finding out the memory limit takes a while."""
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
    if needed <= SMALL_TABLE_BYTES:
        return
    from distributed.system import MEMORY_LIMIT

    if needed > MEMORY_LIMIT:
        raise TooLargeError(
            f"dataset {dataset!r}: preparing {rows:,} rows with {columns:,} features needs about "
            f"{format_bytes(needed)} of memory, but this machine has {format_bytes(MEMORY_LIMIT)}. Choose fewer rows "
            "or features"
        )
