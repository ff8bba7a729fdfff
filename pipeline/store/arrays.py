"""The arrays of a run: zarr groups under one root, every chunk with a checksum and written whole.

A missing chunk reads as NaN, never as a number, and `read` refuses it.
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

from kernel_pipeline.cluster.limits import starved
from kernel_pipeline.errors import RefusedError, UnreachableError
from kernel_pipeline.store.access import Access
from kernel_pipeline.store.array_metadata import parse_description
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.paths import GROUPS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats

DATA, GRAM, STATISTICS, WEIGHTS, COMBINED = GROUPS


class DamagedError(RuntimeError):
    """A stored array does not hold what was written."""


class RunStore:
    """The arrays of one run. Cheap to make and to send: it holds an address and a token only.

    Parameters
    ----------
    token
        That of the lock under which arrays are written; without one, nothing guards them.
    """

    def __init__(self, root: Storage, token: str = "") -> None:
        self.root, self.fence = root, Fence(root, token)
        self.access = Access(self.fence.check)
        self._opened: dict[str, zarr.Array[Any]] = {}
        self._described: dict[str, str] = {}
        """Digests of descriptions that are known to be there; many arrays share the groups around them."""

    def __reduce__(self) -> tuple[type["RunStore"], tuple[Storage, str]]:
        return RunStore, (self.root, self.fence.token)

    def anew(self) -> "RunStore":
        """The same arrays, of which nothing was read or written yet."""
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
        """Describe an array, without values; chunks that are there stay.

        Returns
        -------
        The digests of what describes it and the groups around it, by key.
        """
        described: dict[str, Buffer] = {}
        zarr.create_array(
            store=MemoryStore(described),
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
        for key, buffer in described.items():
            content = buffer.to_bytes()
            digests[f"{group}/{key}"] = content_digest(content)
            self._describe(f"{group}/{key}", content)
        return digests

    def _describe(self, key: str, content: bytes) -> None:
        digest = content_digest(content)
        if self._described.get(key) != digest:
            if self.root.digests([key], expected={key: digest})[key] != digest:
                self.fence.check()
                self.root.write(key, content, sync=False)
            self._described[key] = digest

    def array(self, group: str, name: str) -> zarr.Array[Any]:
        """An array that is there."""
        key = f"{group}/{name}"
        if key not in self._opened:
            try:
                parse_description(self.root.read(f"{key}/zarr.json"))  # before zarr looks for what decodes it
                # Not a property of the stored array: without it a chunk of nothing but NaN would not be written.
                with zarr.config.set({"array.write_empty_chunks": True}):
                    self._opened[key] = zarr.open_array(
                        store=self.root.arrays(group, self.access), path=name, mode="r+", zarr_format=3
                    )
            except (UnreachableError, RefusedError):
                raise
            except Exception as error:  # a description may be wrong in any way
                if not _is_damage(error):
                    raise
                raise DamagedError(f"{key}/zarr.json does not describe an array: {error}") from error
        return self._opened[key]

    def write_chunk(self, group: str, name: str, chunk: Sequence[int], values: Floats) -> dict[str, str]:
        """Write one whole chunk.

        Returns
        -------
        The digest of what is stored, by its key.
        """
        self._writable(group, name).set_block_selection(tuple(chunk), values)
        return self._digests(group, name, [tuple(chunk)])

    def write(self, group: str, name: str, values: Any) -> dict[str, str]:
        """Write a whole array, in one call for all its chunks."""
        array = self._writable(group, name)
        array[...] = np.asarray(values)
        return self._digests(group, name, np.ndindex(array.cdata_shape))

    def write_trials(self, group: str, name: str, trials: Sequence[int], values: Any) -> dict[str, str]:
        """Write the chunks of consecutive trials, for arrays whose first axis is the trial; one value each."""
        array, first = self._writable(group, name), trials[0]
        array[first : first + len(trials)] = np.asarray(values, dtype=np.float64)
        behind = [0] * (array.ndim - 1)
        return self._digests(group, name, [(trial, *behind) for trial in trials])

    def _writable(self, group: str, name: str) -> zarr.Array[Any]:
        """An array to write to; zarr would make the folders of a vanished run directory anew, around a lone chunk."""
        array, described = self.array(group, name), f"{group}/{name}/zarr.json"
        if not self.root.exists(described):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), f"{self.root}/{described}")
        return array

    def _keys(self, group: str, name: str, chunks: Iterable[tuple[int, ...]]) -> list[str]:
        encode = self.array(group, name).metadata.encode_chunk_key
        return [f"{group}/{name}/{encode(chunk)}" for chunk in chunks]

    def _digests(self, group: str, name: str, chunks: Iterable[tuple[int, ...]]) -> dict[str, str]:
        """The digests of chunks that were just written, which have to be there."""
        keys = self._keys(group, name, chunks)
        written = {key: self.access.written[key] for key in keys}
        for key, found in self.root.digests(keys, full=self.root.verify_writes).items():
            if found != written[key]:  # the disk, or someone else who writes there
                raise OSError(errno.EIO, "what was just written is not what is there", f"{self.root}/{key}")
        return written

    def read(self, group: str, name: str, selection: Any = ..., undefined: bool = False) -> Any:
        """Read a part of an array; every value must have been written.

        Parameters
        ----------
        undefined
            Whether a value may be NaN because it is not defined. Then the chunks have to be there, since a missing one
            reads as NaN as well; of an array with one chunk per trial, those of the selected trial.
        """
        array = self.array(group, name)
        try:
            values = np.asarray(array[selection])
        except (ValueError, RuntimeError, TypeError) as error:  # as a chunk fails: its checksum, its size
            if not _is_damage(error):
                raise
            raise DamagedError(f"{group}/{name} cannot be read: {error}") from error
        missing = values.dtype.kind == "f" and bool(np.isnan(values).any())
        if missing and undefined:
            first, *others = (range(count) for count in array.cdata_shape)
            chunks = product([selection] if isinstance(selection, int) else first, *others)
            missing = not all(self.root.digests(self._keys(group, name, chunks), full=False).values())
        if missing:
            raise DamagedError(f"{group}/{name} lacks values that a finished task should have written")
        return values


def _is_damage(error: Exception) -> bool:
    """Whether an error tells of what is stored, and not of a process that lacks memory, threads or open files."""
    is_absent = isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError)
    return is_absent or not (isinstance(error, OSError | MemoryError) or starved(error))
