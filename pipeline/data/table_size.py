"""Memory limit for tables of samples."""

from kernel_pipeline.errors import TooLargeError
from kernel_pipeline.text import format_bytes

FLOAT_BYTES = 8
# Tables of at most this size are not held against the memory of the machine, which takes a while to find out.
SMALL_TABLE = 256 << 20


# A table of samples is in memory as it is read, encoded, sampled and in fold order.
COPIES_OF_TABLE = 4


def check_table(rows: int, columns: int, dataset: str) -> None:
    """Refuse a table of samples that this machine has no memory for, before it is made."""
    needed = FLOAT_BYTES * rows * columns * COPIES_OF_TABLE
    if needed <= SMALL_TABLE:
        return
    from distributed.system import MEMORY_LIMIT

    if needed > MEMORY_LIMIT:
        raise TooLargeError(
            f"dataset {dataset!r}: {rows:,} rows with {columns:,} features need about {format_bytes(needed)} of memory "
            f"to be made ready, and this machine has {format_bytes(MEMORY_LIMIT)}. Choose fewer rows or features"
        )
