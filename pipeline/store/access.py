"""How a process reads and writes the chunks of arrays: fenced, and with a note of every digest that it met."""

from collections.abc import Callable

from kernel_pipeline.store.digests import CHECKSUM_BYTES, chunk_end_digest, is_chunk

Check = Callable[[], None]


class Access:
    """What a store of arrays asks before a write, and where it notes what was read and written.

    Parameters
    ----------
    check
        Raises an error if nothing may be written any longer.
    """

    def __init__(self, check: Check) -> None:
        self.check = check
        self.read: dict[str, str] = {}
        """Digests of the chunks that were read, by key; the last one of each."""
        self.written: dict[str, str] = {}
        """Digests of the chunks that were written, by key: of what was handed over, not of what is there now."""

    def note_read(self, key: str, content: bytes | memoryview) -> None:
        """Note what was read, except for what was written here before."""
        if is_chunk(key) and key not in self.written:
            self.read[key] = _digest(content)

    def note_written(self, key: str, content: bytes | memoryview) -> None:
        """Note what was written."""
        if is_chunk(key):
            self.written[key] = _digest(content)


def _digest(content: bytes | memoryview) -> str:
    """By the checksum at the end: zarr has computed it, and holds the content against it when reading."""
    return chunk_end_digest(bytes(content[-CHECKSUM_BYTES:]), len(content))
