"""Digests of stored files: a checksum and the size, so that what rots, shrinks or changes place is noticed."""

import os
from collections.abc import Callable
from io import FileIO
from pathlib import Path

import google_crc32c

CHECKSUM_BYTES = 4
DAMAGED = "damaged"


def content_digest(content: bytes) -> str:
    """The digest of a whole content."""
    return f"{google_crc32c.value(content):08x}:{len(content)}"


def is_chunk(key: str) -> bool:
    """Whether a key is that of a chunk of a zarr array."""
    return ".zarr/" in key and not key.endswith("/zarr.json")


def file_digest(path: str | Path) -> str:
    """The digest of a file; empty if there is none."""
    return _digest(path, lambda descriptor, size: content_digest(_content(descriptor)))


def chunk_digest(path: str | Path, full: bool = True) -> str:
    """The digest of a chunk of a zarr array, which ends in its own checksum; empty if there is none.

    In full, its content is held against that; else only the checksum and the size are looked at, which cost nothing
    to read.
    """
    return _digest(path, _whole_chunk if full else _end_of_chunk)


def chunk_content_digest(content: bytes) -> str:
    """The digest of all that is in a chunk, held against the checksum at its end."""
    body, stored = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    computed = google_crc32c.value(body).to_bytes(CHECKSUM_BYTES, "little")  # as zarr's codec writes it
    return f"{stored.hex() if stored == computed else DAMAGED}:{len(content)}"


def chunk_end_digest(end: bytes, size: int) -> str:
    """The digest of a chunk that ends so, and of which no more is known than its size."""
    return f"{end.hex()}:{size}"


def _digest(path: str | Path, of: Callable[[int, int], str]) -> str:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # there may be very many; this is the quickest way
    except OSError:
        return ""
    try:
        return of(descriptor, os.fstat(descriptor).st_size)
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def size_of(digest: str) -> int:
    """The bytes of what a digest is of."""
    return int(digest.rpartition(":")[2] or 0)


def _content(descriptor: int) -> bytes:
    return FileIO(descriptor, closefd=False).readall()


def _whole_chunk(descriptor: int, _size: int) -> str:
    return chunk_content_digest(_content(descriptor))


def _end_of_chunk(descriptor: int, size: int) -> str:
    return chunk_end_digest(os.pread(descriptor, CHECKSUM_BYTES, max(0, size - CHECKSUM_BYTES)), size)
