"""The arrays of a run: zarr groups under the run directory, every chunk with a checksum and written whole.

A missing chunk reads as NaN, never as a number, and `read` refuses it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec

from tasks.arrays import Floats

DATA = "data.zarr"
GRAM = "gram.zarr"
STATISTICS = "statistics.zarr"
WEIGHTS = "weights.zarr"
COMBINED = "combined.zarr"

CHECKSUM_BYTES = 4


class DamagedError(RuntimeError):
    """A stored array does not hold what was written."""


class RunStore:
    """The arrays of one run directory. Cheap to make and to send: it holds an address only."""

    def __init__(self, root: str | Path) -> None:
        self.root = str(root)
        self._opened: dict[str, zarr.Array[Any]] = {}

    def __reduce__(self) -> tuple[type["RunStore"], tuple[str]]:
        return RunStore, (self.root,)

    def create(
        self,
        group: str,
        name: str,
        shape: Sequence[int],
        chunks: Sequence[int],
        about: str,
        dtype: str = "float64",
        attributes: dict[str, Any] | None = None,
    ) -> None:
        """Make an array without values, or leave it as it is if it is there already."""
        if (Path(self.root) / group / name / "zarr.json").exists():
            return
        zarr.create_array(
            store=f"{self.root}/{group}",
            name=name,
            shape=tuple(shape),
            chunks=tuple(max(1, size) for size in chunks),
            dtype=dtype,
            fill_value=np.nan if dtype == "float64" else -1,
            serializer=BytesCodec(),
            compressors=[Crc32cCodec()],
            config={"write_empty_chunks": True},
            attributes={"about": about, **(attributes or {})},
        )

    def array(self, group: str, name: str) -> zarr.Array[Any]:
        """An array that is there."""
        key = f"{group}/{name}"
        if key not in self._opened:
            self._opened[key] = zarr.open_array(store=f"{self.root}/{group}", path=name, mode="r+")
        return self._opened[key]

    def write_chunk(self, group: str, name: str, chunk: Sequence[int], values: Floats) -> dict[str, str]:
        """Write one whole chunk.

        Returns
        -------
        The checksum that was stored with it, by its key.
        """
        self.array(group, name).set_block_selection(tuple(chunk), values)
        return self._checksums(group, name, [tuple(chunk)])

    def write(self, group: str, name: str, values: Any) -> dict[str, str]:
        """Write a whole array, in one call for all its chunks."""
        array = self.array(group, name)
        array[...] = np.asarray(values)
        return self._checksums(group, name, np.ndindex(array.cdata_shape))

    def write_trials(self, group: str, name: str, trials: Sequence[int], values: Any) -> dict[str, str]:
        """Write the chunks of consecutive trials, for arrays whose first axis is the trial; one value each."""
        array, first = self.array(group, name), trials[0]
        array[first : first + len(trials)] = np.asarray(values, dtype=np.float64)
        behind = [0] * (array.ndim - 1)
        return self._checksums(group, name, [(trial, *behind) for trial in trials])

    def _checksums(self, group: str, name: str, chunks: Iterable[tuple[int, ...]]) -> dict[str, str]:
        encode = self.array(group, name).metadata.encode_chunk_key
        keys = [f"{group}/{name}/{encode(chunk)}" for chunk in chunks]
        return {key: self.stored_checksum(key) for key in keys}

    def read(self, group: str, name: str, selection: Any = ...) -> Any:
        """Read a part of an array; every value must have been written."""
        values = np.asarray(self.array(group, name)[selection])
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise DamagedError(f"{group}/{name} lacks values that a finished task should have written")
        return values

    def stored_checksum(self, key: str) -> str:
        """The checksum of a stored chunk; empty if the chunk is not there or does not hold what was written."""
        try:
            content = (Path(self.root) / key).read_bytes()
        except OSError:
            return ""
        body, stored = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
        computed = google_crc32c.value(body).to_bytes(CHECKSUM_BYTES, "little")  # as zarr's codec writes it
        return stored.hex() if stored == computed else ""
