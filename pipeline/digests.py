"""Digests of stored files: a checksum and the size, so that what rots, shrinks or changes place is noticed."""

import os
from io import FileIO
from pathlib import Path

import google_crc32c

CHECKSUM_BYTES = 4
DAMAGED = "damaged"


def content_digest(content: bytes) -> str:
    """The digest of a whole content."""
    return f"{google_crc32c.value(content):08x}:{len(content)}"


def file_digest(path: str | Path, full: bool = True) -> str:
    """The digest of a file; empty if there is none.

    A chunk of a zarr array ends in its own checksum. In full, its content is held against that; else only the
    checksum and the size are looked at, which cost nothing to read.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # there may be very many; this is the quickest way
    except OSError:
        return ""
    try:
        size = os.fstat(descriptor).st_size
        if is_chunk(str(path)):
            return _chunk_digest(descriptor) if full else _end_of_chunk(descriptor, size)
        return content_digest(_content(descriptor))
    except OSError:
        return ""
    finally:
        os.close(descriptor)


def size_of(digest: str) -> int:
    """The bytes of what a digest is of."""
    return int(digest.rpartition(":")[2] or 0)


def is_chunk(path: str) -> bool:
    """Whether a path is that of a chunk, by its name."""
    return ".zarr/" in path and not path.endswith("/zarr.json")


def _content(descriptor: int) -> bytes:
    return FileIO(descriptor, closefd=False).readall()


def _chunk_digest(descriptor: int) -> str:
    content = _content(descriptor)
    body, stored = content[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    computed = google_crc32c.value(body).to_bytes(CHECKSUM_BYTES, "little")  # as zarr's codec writes it
    return f"{stored.hex() if stored == computed else DAMAGED}:{len(content)}"


def _end_of_chunk(descriptor: int, size: int) -> str:
    return f"{os.pread(descriptor, CHECKSUM_BYTES, max(0, size - CHECKSUM_BYTES)).hex()}:{size}"
