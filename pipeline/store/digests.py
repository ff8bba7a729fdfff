"""Compute digests of stored files: a checksum and the size, to detect damaged, truncated and misplaced files."""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

import google_crc32c

from kernel_pipeline.store.regular_files import IrregularError, open_regular

CHECKSUM_BYTES = 4
DAMAGED = "damaged"
IRREGULAR = "irregular:0"
"""Used instead of a digest for a link, a FIFO or a folder, which is not opened."""
BLOCK_BYTES = 1 << 20
"""Number of bytes read at a time: chunks and tables may not fit in memory."""
MAX_UNEXPECTED_BYTES = 64 << 20
"""Largest file that is read although its size differs from the ledger, to find out whether it is misplaced."""


def content_digest(content: bytes) -> str:
    """Return the digest of the content of a file."""
    return f"{google_crc32c.value(content):08x}:{len(content)}"


def is_chunk(key: str) -> bool:
    """Return whether a key is that of a chunk of a zarr array."""
    return ".zarr/" in key and not key.endswith("/zarr.json")


def file_digest(path: str | Path, expected: str = "") -> str:
    """Return the digest of a file; empty if it does not exist or cannot be read.

    Parameters
    ----------
    expected
        Digest of the file in the ledger. A file of another size is read only if it is small.
    """
    return _digest(path, False, True, expected)


def chunk_digest(path: str | Path, full: bool = True, expected: str = "") -> str:
    """Return the digest of a chunk of a zarr array, which ends in its own checksum.

    The digest is empty if the chunk does not exist or cannot be read.

    Parameters
    ----------
    full
        Whether to verify the content against the checksum. Otherwise only the checksum and the size are read.
    expected
        Digest of the chunk in the ledger. A file of another size is read only if it is small.
    """
    return _digest(path, True, full, expected)


def is_unexpected(size: int, expected: str) -> bool:
    """Return whether a file need not be read: it is large, and its size differs from the ledger."""
    return size > MAX_UNEXPECTED_BYTES and bool(expected) and size_of(expected) != size


def digest_of(blocks: Iterable[bytes], chunk: bool) -> str:
    """Return the digest of a file that is read in blocks; a chunk is verified against the checksum at its end."""
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
    """Return the digest of a chunk from its last bytes, the stored checksum, and its size."""
    return f"{end.hex()}:{size}"


def _digest(path: str | Path, chunk: bool, full: bool, expected: str) -> str:
    try:
        descriptor = open_regular(path)  # without a file object, which is faster for many chunks
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
    """Return the size in bytes that is part of a digest."""
    return int(digest.rpartition(":")[2] or 0)


def _blocks(descriptor: int) -> Iterator[bytes]:
    while block := os.read(descriptor, BLOCK_BYTES):
        yield block
