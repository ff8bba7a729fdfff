"""Parse the metadata of stored arrays: only the subset of zarr v3 that this program writes is accepted.

The metadata of a zarr array can name any installed codec, so decoding it may run arbitrary code. Metadata from a run
directory are therefore validated before zarr reads them.
"""

import math
from dataclasses import dataclass, field
from typing import Any

from kernel_pipeline.store.digests import CHECKSUM_BYTES
from kernel_pipeline.store.json_text import parse_json

FILL_VALUES = {"float64": "NaN", "int64": -1}
ITEM_BYTES = 8
FIXED = {
    "zarr_format": 3,
    "node_type": "array",
    "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},
    "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "crc32c"}],
    "storage_transformers": [],
}
"""Metadata fields that are the same for all arrays."""
VARYING = ("shape", "data_type", "chunk_grid", "fill_value", "attributes")
"""Metadata fields that differ between arrays."""


@dataclass(frozen=True)
class ArrayMetadata:
    """The shape, the chunk shape and the data type of a stored array."""

    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    dtype: str

    @property
    def chunk_bytes(self) -> int:
        """Return the stored size of one chunk, including its checksum."""
        return math.prod(self.chunks) * ITEM_BYTES + CHECKSUM_BYTES


@dataclass(frozen=True)
class ArrayPlan:
    """An array of a run, as planned."""

    group: str
    name: str
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    about: str
    dtype: str = "float64"
    attributes: dict[str, Any] = field(default_factory=dict)
    has_variable_length: bool = False
    """Whether the data determine the length, so that the shape is only an upper bound."""
    is_symmetric: bool = False
    """Whether only the chunks on and above the diagonal of the last two dimensions are stored."""
    is_optional: bool = False
    """Whether tasks can compute the values where they need them, so that the array need not be stored."""

    @property
    def key(self) -> str:
        """Return the path of the array below the run directory."""
        return f"{self.group}/{self.name}"

    @property
    def stored_bytes(self) -> int:
        """Return the stored size of all chunks: chunks at the border are full, and each has a checksum.

        >>> ArrayPlan("gram.zarr", "wave/gram", (2, 5, 5), (2, 3, 3), "", is_symmetric=True).stored_bytes
        444
        """
        chunks = tuple(max(1, size) for size in self.chunks)
        counts = [-(-length // size) for length, size in zip(self.shape, chunks, strict=True)]
        count = math.prod(counts)
        if self.is_symmetric:
            count = math.prod(counts[:-1]) * (counts[-1] + 1) // 2
        return count * ArrayMetadata(self.shape, chunks, self.dtype).chunk_bytes

    def matches(self, metadata: ArrayMetadata) -> bool:
        """Return whether the metadata of a stored array match this plan."""
        if metadata.dtype != self.dtype:
            return False
        if self.has_variable_length:
            (length,), (bound,) = metadata.shape[:1] or (0,), self.shape
            return len(metadata.shape) == 1 and length <= bound and metadata.chunks == (max(1, length),)
        return metadata.shape == self.shape and metadata.chunks == tuple(max(1, size) for size in self.chunks)


def parse_metadata(content: bytes) -> ArrayMetadata:
    """Parse the metadata of an array.

    Raises
    ------
    ValueError
        If this program would not write such metadata.
    """
    values = parse_json(content)
    if not isinstance(values, dict):
        raise ValueError("it is not an object")
    for key, value in FIXED.items():
        if values.get(key) != value:
            raise ValueError(f"{key} is not {value}")
    if unknown := values.keys() - FIXED.keys() - set(VARYING):
        raise ValueError(f"it has unknown fields: {sorted(unknown)}")
    dtype = values.get("data_type")
    if not isinstance(dtype, str) or dtype not in FILL_VALUES:
        raise ValueError(f"data_type is not one of {', '.join(FILL_VALUES)}")
    if values.get("fill_value") != FILL_VALUES[dtype]:
        raise ValueError(f"fill_value is not {FILL_VALUES[dtype]}")
    shape: Any = values.get("shape")
    grid: Any = values.get("chunk_grid")
    chunks: Any = grid["configuration"].get("chunk_shape") if _is_regular_grid(grid) else None
    if not (_are_sizes(shape, 0) and _are_sizes(chunks, 1) and len(shape) == len(chunks)):
        raise ValueError("shape and chunks are not lists of sizes of the same length")
    if not isinstance(values.get("attributes", {}), dict):
        raise ValueError("attributes are not an object")
    return ArrayMetadata(tuple(shape), tuple(chunks), dtype)


def _is_regular_grid(grid: Any) -> bool:
    return isinstance(grid, dict) and grid.get("name") == "regular" and isinstance(grid.get("configuration"), dict)


def _are_sizes(sizes: Any, minimum: int) -> bool:
    return isinstance(sizes, list) and all(type(size) is int and size >= minimum for size in sizes)
