"""Digests of stored files: a checksum and the size, so that what rots, shrinks or changes place is noticed."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import google_crc32c

from kernel_pipeline.store.regular_files import IrregularError, open_regular

CHECKSUM_BYTES = 4
DAMAGED = "damaged"
IRREGULAR = "irregular:0"
"""In the place of a digest: there is a link, a FIFO or a folder, which is not opened."""
BLOCK_BYTES = 1 << 20
"""Read at a time: chunks and tables may be larger than what memory there is."""
MAX_UNEXPECTED_BYTES = 64 << 20
"""Read of a file that has another size than the ledger says, to see whether it belongs to another place."""


def content_digest(content: bytes) -> str:
    """The digest of a whole content."""
    return f"{google_crc32c.value(content):08x}:{len(content)}"


def is_chunk(key: str) -> bool:
    """Whether a key is that of a chunk of a zarr array."""
    return ".zarr/" in key and not key.endswith("/zarr.json")


def file_digest(path: str | Path, expected: str = "") -> str:
    """The digest of a file; empty if there is none.

    Parameters
    ----------
    expected
        The digest that the ledger has of it. A file of another size is read only if it is small.
    """
    return _digest(path, False, True, expected)


def chunk_digest(path: str | Path, full: bool = True, expected: str = "") -> str:
    """The digest of a chunk of a zarr array, which ends in its own checksum; empty if there is none.

    In full, its content is held against that; else only the checksum and the size are looked at, which cost nothing
    to read. A file of another size than expected is read only if it is small.
    """
    return _digest(path, True, full, expected)


def is_unexpected(size: int, expected: str) -> bool:
    """Return whether a file is not worth reading: it is large, and not as large as the ledger says."""
    return size > MAX_UNEXPECTED_BYTES and bool(expected) and size_of(expected) != size


def digest_of(blocks: Iterable[bytes], chunk: bool) -> str:
    """The digest of a file that comes in blocks; that of a chunk is held against the checksum at its end."""
    computed, size, end = 0, 0, b""
    for block in blocks:
        size += len(block)
        content = end + block
        body = max(0, len(content) - CHECKSUM_BYTES) if chunk else len(content)
        computed, end = google_crc32c.extend(computed, content[:body]), content[body:]
    if not chunk:
        return f"{computed:08x}:{size}"
    return f"{end.hex() if end == computed.to_bytes(CHECKSUM_BYTES, 'little') else DAMAGED}:{size}"


def chunk_end_digest(end: bytes, size: int) -> str:
    """The digest of a chunk that ends so, and of which no more is known than its size."""
    return f"{end.hex()}:{size}"


def _digest(path: str | Path, chunk: bool, full: bool, expected: str) -> str:
    try:
        descriptor = open_regular(path)  # there may be very many; this is the quickest way
    except IrregularError:
        return IRREGULAR
    except OSError:
        return ""
    try:
        size = os.fstat(descriptor).st_size
        if not full:
            end = os.pread(descriptor, CHECKSUM_BYTES, max(0, size - CHECKSUM_BYTES))
            return chunk_end_digest(end, size)
        if is_unexpected(size, expected):
            return f"{DAMAGED}:{size}"
        return digest_of(_blocks(descriptor), chunk)
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def size_of(digest: str) -> int:
    """The bytes of what a digest is of."""
    return int(digest.rpartition(":")[2] or 0)


def _blocks(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, BLOCK_BYTES):
        yield block
