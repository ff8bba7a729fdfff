"""Define parts of the memory of a worker process that tasks of several stages have in common."""

from collections.abc import Sequence

from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.arrays import DATA
from kernel_pipeline.store.inputs import PRECOMPUTED
from kernel_pipeline.store.schema import array_spec
from kernel_pipeline.tasks.arrays import FLOAT_BYTES

# Memory of a worker process with all libraries loaded, including what its allocator keeps after earlier tasks.
RESERVED = 512 << 20
# Copies of the features: as read, the bytes of their chunks during decoding, and as prepared by families.
COPIES_OF_FEATURES = 3
# Copies of the columns of a view: as selected, and as prepared by its family.
COPIES_OF_VIEWS = 2
# Copies of a chunk that is written: its values, its encoded bytes, and these bytes with the checksum.
COPIES_WRITTEN = 3
# Copies of an array that is read: its values, and the bytes of its chunks during decoding.
COPIES_READ = 2
# Labels: as read, in their units, and centered.
COPIES_OF_LABELS = 3


def tile_input_bytes(sizes: Sizes, view_columns: int) -> int:
    """Return the bytes of the arrays from which tiles are computed, without the tiles themselves."""
    return (
        COPIES_OF_FEATURES * array_spec(DATA, "features").array_bytes(sizes)
        + COPIES_OF_VIEWS * FLOAT_BYTES * sizes.sample * view_columns
        + COPIES_READ * sizes.precomputed * array_spec(DATA, PRECOMPUTED).chunk_bytes(sizes)
    )


def label_bytes(sizes: Sizes) -> int:
    """Return the bytes of the labels of all samples, with the copies of them that a task holds."""
    return COPIES_OF_LABELS * array_spec(DATA, "targets").array_bytes(sizes)


def array_bytes(sizes: Sizes, group: str, keys: Sequence[str]) -> int:
    """Return the total bytes of some arrays of a group."""
    return sum(array_spec(group, key).array_bytes(sizes) for key in keys)


def chunk_bytes(sizes: Sizes, group: str, keys: Sequence[str]) -> int:
    """Return the total bytes of one chunk of each of some arrays of a group."""
    return sum(array_spec(group, key).chunk_bytes(sizes) for key in keys)
