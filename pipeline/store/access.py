"""Record which chunks a process reads and writes, and check before each write that the process may still write."""

from collections.abc import Callable

from kernel_pipeline.store.digests import CHECKSUM_BYTES, chunk_end_digest, is_chunk

Check = Callable[[], None]


class Access:
    """The digests of the chunks that were read and written, and the check before each write.

    Parameters
    ----------
    check
        Called before each write; raises an error if the process may no longer write.
    """

    def __init__(self, check: Check) -> None:
        self.check = check
        self.read: dict[str, str] = {}
        """Digests of the chunks that were read, by key; the most recent one of each."""
        self.written: dict[str, str] = {}
        """Digests of the chunks that were written, by key, computed from the given content, not the stored file."""

    def note_read(self, key: str, content: bytes | memoryview) -> None:
        """Record the digest of a chunk that was read, unless this process wrote it before."""
        if is_chunk(key) and key not in self.written:
            self.read[key] = _digest(content)

    def note_written(self, key: str, content: bytes | memoryview) -> None:
        """Record the digest of a chunk that was written."""
        if is_chunk(key):
            self.written[key] = _digest(content)


def _digest(content: bytes | memoryview) -> str:
    """Return the digest of a chunk from the checksum at its end, which zarr writes and verifies."""
    return chunk_end_digest(bytes(content[-CHECKSUM_BYTES:]), len(content))
