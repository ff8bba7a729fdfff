"""What zarr reads and writes the chunks of a local run by."""

import asyncio
from pathlib import Path

from zarr.abc.store import ByteRequest
from zarr.core.buffer import Buffer, BufferPrototype
from zarr.storage import LocalStore

from pipeline.storage.access import Access
from pipeline.storage.files import write_whole


class FolderStore(LocalStore):
    """A folder whose chunks are replaced whole, and only as long as that is allowed."""

    def __init__(self, root: Path | str, access: Access, *, read_only: bool = False) -> None:
        super().__init__(root, read_only=read_only)
        self._access = access

    def with_read_only(self, read_only: bool = False) -> "FolderStore":
        return FolderStore(self.root, self._access, read_only=read_only)

    async def get(
        self, key: str, prototype: BufferPrototype | None = None, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """A chunk or a description; None if there is none."""
        found = await super().get(key, prototype, byte_range)
        if found is not None and byte_range is None:
            self._access.note_read(key, memoryview(found.as_buffer_like()))
        return found

    async def set(self, key: str, value: Buffer) -> None:
        """Replace a chunk or a description, whole."""
        await asyncio.to_thread(self._put, key, value)

    def _put(self, key: str, value: Buffer) -> None:
        self._access.check()
        path, content = self.root / key, memoryview(value.as_buffer_like())
        path.parent.mkdir(parents=True, exist_ok=True)
        # Again once it is on the disk, which may take long: right before it takes its place.
        write_whole(path, iter((content,)), sync=False, before_replace=self._access.check)
        self._access.note_written(key, content)
