"""Implement a zarr store on a local folder that opens only regular files and follows no links."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from zarr.abc.store import ByteRequest, OffsetByteRequest, RangeByteRequest, Store, SuffixByteRequest
from zarr.core.buffer import Buffer, BufferPrototype

from kernel_pipeline.store.access import Access
from kernel_pipeline.store.files import write_whole
from kernel_pipeline.store.regular_files import is_regular, open_regular, path_inside


class FolderStore(Store):
    """A zarr store on a folder. Unlike `zarr.storage.LocalStore`, it refuses links and special files.

    Parameters
    ----------
    path
        The folder.
    access
        Checks each write, and records the chunks that were read and written.
    """

    supports_writes = True
    supports_deletes = False
    supports_partial_writes = False
    supports_listing = False

    def __init__(self, path: Path, access: Access) -> None:
        super().__init__(read_only=False)
        self.path, self._access = path, access

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FolderStore) and self.path == other.path

    def __str__(self) -> str:
        return f"file://{self.path}"

    async def get(self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None) -> Buffer | None:
        """Return the content of a chunk or of metadata; None if it does not exist."""
        try:
            content = await asyncio.to_thread(self._read, key, byte_range)
        except (FileNotFoundError, NotADirectoryError):
            return None
        if byte_range is None:
            self._access.note_read(key, content)
        return prototype.buffer.from_bytes(content)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Return parts of chunks."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Return whether a file exists."""
        return is_regular(path_inside(self.path, key))

    async def set(self, key: str, value: Buffer) -> None:
        """Replace a chunk or metadata atomically."""
        await asyncio.to_thread(self._write, key, value)

    async def set_partial_values(self, key_start_values: object) -> None:
        """Raise an error: chunks are always written whole."""
        raise NotImplementedError

    async def delete(self, key: str) -> None:
        """Raise an error: zarr is not used to remove files."""
        raise NotImplementedError

    def list(self) -> AsyncIterator[str]:
        """Raise an error: zarr is not used to list files."""
        raise NotImplementedError

    def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """Raise an error: zarr is not used to list files."""
        raise NotImplementedError

    def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """Raise an error: zarr is not used to list files."""
        raise NotImplementedError

    def _read(self, key: str, part: ByteRequest | None) -> bytes:
        with os.fdopen(open_regular(path_inside(self.path, key)), "rb", buffering=0) as file:
            if isinstance(part, RangeByteRequest):
                return os.pread(file.fileno(), part.end - part.start, part.start)
            if isinstance(part, OffsetByteRequest):
                file.seek(part.offset)
            elif isinstance(part, SuffixByteRequest):
                file.seek(max(0, os.fstat(file.fileno()).st_size - part.suffix))
            return file.readall()

    def _write(self, key: str, value: Buffer) -> None:
        self._access.check()
        path, content = Path(path_inside(self.path, key)), value.to_bytes()
        path.parent.mkdir(parents=True, exist_ok=True)
        # Check again after writing, which may take long, immediately before the file is replaced.
        write_whole(path, content, sync=False, before_replace=self._access.check)
        self._access.note_written(key, content)
