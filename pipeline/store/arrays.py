"""Read and write the arrays of a run: zarr groups in one storage, whose chunks have checksums and are written whole.

A missing chunk of floats reads as NaN, for which `read` raises an error. A missing chunk of integers reads as -1.
"""

import errno
import os
from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec
from zarr.core.buffer import Buffer
from zarr.storage import MemoryStore

from kernel_pipeline.cluster.limits import suspected_limits
from kernel_pipeline.errors import RefusedError, UnreachableError
from kernel_pipeline.store.access import Access
from kernel_pipeline.store.array_metadata import parse_metadata
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.paths import GROUPS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats

DATA, GRAM, STATISTICS, WEIGHTS, COMBINED, PREDICTIONS = GROUPS


class DamagedError(RuntimeError):
    """A stored array does not contain what was written."""


class RunStore:
    """The arrays of one run. A store is cheap to create, and is pickled as its storage and its token.

    Parameters
    ----------
    root
        Storage of the arrays.
    token
        Token of the lock under which arrays are written; if empty, writes are not checked against a lock.
    """

    def __init__(self, root: Storage, token: str = "") -> None:
        self.root, self.fence = root, Fence(root, token)
        self.access = Access(self.fence.check)
        self._opened: dict[str, zarr.Array[Any]] = {}
        self._known_metadata: dict[str, str] = {}
        """Digests of metadata that are known to be stored; many arrays share the groups that contain them."""

    def __reduce__(self) -> tuple[type["RunStore"], tuple[Storage, str]]:
        return RunStore, (self.root, self.fence.token)

    def fresh_copy(self) -> "RunStore":
        """Return a store of the same arrays, with no reads or writes recorded."""
        return RunStore(self.root, self.fence.token)

    def create(
        self,
        group: str,
        name: str,
        shape: Sequence[int],
        chunks: Sequence[int],
        about: str,
        dtype: str = "float64",
        attributes: dict[str, Any] | None = None,
    ) -> dict[str, str]:
        """Create an array without values; existing chunks are kept.

        Returns
        -------
        digests
            The digests of the metadata of the array and of the groups that contain it, by key.
        """
        metadata: dict[str, Buffer] = {}
        zarr.create_array(
            store=MemoryStore(metadata),
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
        self._opened.pop(f"{group}/{name}", None)
        digests = {}
        for key, buffer in metadata.items():
            content = buffer.to_bytes()
            digests[f"{group}/{key}"] = content_digest(content)
            self._write_metadata(f"{group}/{key}", content)
        return digests

    def _write_metadata(self, key: str, content: bytes) -> None:
        digest = content_digest(content)
        if self._known_metadata.get(key) != digest:
            if self.root.digests([key], expected={key: digest})[key] != digest:
                self.fence.check()
                self.root.write(key, content, sync=False)
            self._known_metadata[key] = digest

    def array(self, group: str, name: str) -> zarr.Array[Any]:
        """Return an existing array.

        Raises
        ------
        DamagedError
            If its metadata are missing or not valid.
        """
        key = f"{group}/{name}"
        if key not in self._opened:
            try:
                parse_metadata(self.root.read(f"{key}/zarr.json"))  # before zarr loads the codecs that it names
                # A setting of the process, not stored with the array: without it, all-NaN chunks are not written.
                with zarr.config.set({"array.write_empty_chunks": True}):
                    self._opened[key] = zarr.open_array(
                        store=self.root.arrays(group, self.access), path=name, mode="r+", zarr_format=3
                    )
            except (UnreachableError, RefusedError):
                raise
            except Exception as error:  # invalid metadata can raise any type of error
                if not _is_damage(error):
                    raise
                raise DamagedError(f"{key}/zarr.json does not describe an array: {error}") from error
        return self._opened[key]

    def write_chunk(self, group: str, name: str, chunk: Sequence[int], values: Floats) -> dict[str, str]:
        """Write one whole chunk.

        Returns
        -------
        digests
            The digest of the chunk, by its key.
        """
        self._writable(group, name).set_block_selection(tuple(chunk), values)
        return self._digests(group, name, [tuple(chunk)])

    def write_part(self, group: str, name: str, number: int, values: Floats) -> dict[str, str]:
        """Write the values of one index of the first axis, whose chunks have length one along this axis.

        The chunks are written one after the other, so that copies of only one of them are in memory.
        """
        array = self._writable(group, name)
        digests: dict[str, str] = {}
        for chunk in np.ndindex(array.cdata_shape[1:]):
            part = tuple(
                slice(size * index, size * (index + 1)) for size, index in zip(array.chunks[1:], chunk, strict=True)
            )
            digests |= self.write_chunk(group, name, (number, *chunk), values[part][None])
        return digests

    def write(self, group: str, name: str, values: Any) -> dict[str, str]:
        """Write a whole array, and return the digests of its chunks by key."""
        array = self._writable(group, name)
        array[...] = np.asarray(values)
        return self._digests(group, name, np.ndindex(array.cdata_shape))

    def write_trials(self, group: str, name: str, trials: Sequence[int], values: Any) -> dict[str, str]:
        """Write the chunks of consecutive trials; the first axis of the array, and of `values`, is the trial."""
        array, first = self._writable(group, name), trials[0]
        array[first : first + len(trials)] = np.asarray(values, dtype=np.float64)
        other_axes = [0] * (array.ndim - 1)
        return self._digests(group, name, [(trial, *other_axes) for trial in trials])

    def _writable(self, group: str, name: str) -> zarr.Array[Any]:
        """Return an array whose metadata are stored: zarr would recreate a deleted run directory for a single chunk."""
        array, metadata_key = self.array(group, name), f"{group}/{name}/zarr.json"
        if not self.root.exists(metadata_key):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.root}/{metadata_key}")
        return array

    def _keys(self, group: str, name: str, chunks: Iterable[tuple[int, ...]]) -> list[str]:
        encode = self.array(group, name).metadata.encode_chunk_key
        return [f"{group}/{name}/{encode(chunk)}" for chunk in chunks]

    def _digests(self, group: str, name: str, chunks: Iterable[tuple[int, ...]]) -> dict[str, str]:
        """Return the digests of chunks that were just written, after checking that they are stored."""
        keys = self._keys(group, name, chunks)
        written = {key: self.access.written[key] for key in keys}
        for key, found in self.root.digests(keys, full=self.root.verify_writes).items():
            if found != written[key]:  # a failing disk, or another process that writes there
                raise OSError(errno.EIO, "the file differs from what was just written", f"{self.root}/{key}")
        return written

    def read(self, group: str, name: str, selection: Any = ..., allow_nan: bool = False) -> Any:
        """Read a part of an array; every value must have been written.

        Parameters
        ----------
        allow_nan
            Whether values may be NaN because they are not defined. A missing chunk reads as NaN as well, so in this
            case the chunks must exist.

        Raises
        ------
        DamagedError
            If chunks are missing or damaged.
        """
        array = self.array(group, name)
        try:
            values = np.asarray(array[selection])
        except (ValueError, RuntimeError, TypeError) as error:  # a wrong checksum or size of a chunk
            if not _is_damage(error):
                raise
            raise DamagedError(f"{group}/{name} cannot be read: {error}") from error
        missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
        if missing and allow_nan:
            chunks = product(*_selected_chunks(array, selection))
            missing = not all(self.root.digests(self._keys(group, name, chunks), full=False).values())
        if missing:
            raise DamagedError(f"{group}/{name} lacks values that a finished task should have written")
        return values


def _selected_chunks(array: zarr.Array[Any], selection: Any) -> list[range]:
    """Return the chunks that a selection of numbers and slices touches, along each axis."""
    parts = selection if isinstance(selection, tuple) else (selection,)
    chosen = [part for part in parts if part is not ...] + [slice(None)] * array.ndim
    found = []
    for length, size, part in zip(array.shape, array.chunks, chosen[: array.ndim], strict=True):
        start, stop = (part, part + 1) if isinstance(part, int) else part.indices(length)[:2]
        found.append(range(start // size, -(-stop // size)))
    return found


def _is_damage(error: Exception) -> bool:
    """Return whether an error is due to the stored data, and not to a lack of memory, threads or open files."""
    is_absent = isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)
    return is_absent or not (isinstance(error, OSError | MemoryError) or suspected_limits(error))
