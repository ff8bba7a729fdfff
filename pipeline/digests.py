"""Digests of stored files: a checksum and the size, so that what rots, shrinks or changes place is noticed."""

import os
from pathlib import Path

import google_crc32c

CHECKSUM_BYTES = 4
DAMAGED = "damaged"


def content_digest(content: bytes) -> str:
    """The digest of a whole content."""
    return f"{google_crc32c.value(content):08x}:{len(content)}"


def file_digest(path: Path, full: bool = True) -> str:
    """The digest of a file; empty if there is none.

    A chunk of a zarr array ends in its own checksum. In full, its content is held against that; else only the
    checksum and the size are looked at, which cost nothing to read.
    """
    try:
        if not _is_chunk(path):
            return content_digest(path.read_bytes())
        return _chunk_digest(path) if full else _end_of_chunk(path)
    except OSError:
        return ""


def size_of(digest: str) -> int:
    """The bytes of what a digest is of."""
    return int(digest.rpartition(":")[2] or 0)


def _is_chunk(path: Path) -> bool:
    return path.name != "zarr.json" and any(part.endswith(".zarr") for part in path.parts)


def _chunk_digest(path: Path) -> str:
    content = path.read_bytes()
    body, stored = memoryview(content)[:-CHECKSUM_BYTES], content[-CHECKSUM_BYTES:]
    computed = google_crc32c.value(bytes(body)).to_bytes(CHECKSUM_BYTES, "little")  # as zarr's codec writes it
    return f"{stored.hex() if stored == computed else DAMAGED}:{len(content)}"


def _end_of_chunk(path: Path) -> str:
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        return f"{os.pread(file.fileno(), CHECKSUM_BYTES, max(0, size - CHECKSUM_BYTES)).hex()}:{size}"
