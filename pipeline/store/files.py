"""Write files atomically, create private folders, and quote paths for the shell."""

import os
import re
import shlex
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from secrets import token_hex

PARTIAL = ".partial"
"""Suffix of files that are being written, the same as that of zarr. A crash may leave such files behind."""
# Matches the names that `write_whole` uses, and those that zarr used for chunks in earlier versions, but not files of
# users, such as "thesis.partial".
TEMPORARY = re.compile(rf"(?:\..+\.[0-9a-f]+|.*\.[0-9a-f]{{32}}){re.escape(PARTIAL)}")

PRIVATE = 0o700
"""Mode of new run directories and log folders."""


def is_temporary(name: str) -> bool:
    """Return whether a file name is that of a temporary file, such as a killed process may leave behind.

    >>> is_temporary(".rows.csv.1f.partial"), is_temporary("thesis.partial")
    (True, False)
    """
    return TEMPORARY.fullmatch(name) is not None


def write_whole(
    path: Path,
    content: str | bytes | Iterator[bytes],
    sync: bool = True,
    before_replace: Callable[[], None] | None = None,
) -> None:
    """Replace a file atomically: it is never partly written, even after a crash.

    Parameters
    ----------
    content
        The whole content, or an iterator over its parts.
    sync
        Whether the file must survive a power failure. Files that are verified by a digest need not.
    before_replace
        Called after the content was written and before the file is replaced. If it raises an error, the file is left
        unchanged.
    """
    temporary = path.with_name(f".{path.name}.{token_hex(8)}{PARTIAL}")
    try:
        with temporary.open("xb") as file:  # exclusive, so an existing link is not followed
            file.writelines(_parts(content))
            file.flush()
            if sync:
                os.fsync(file.fileno())
        if before_replace is not None:
            before_replace()
        temporary.replace(path)
        if sync:
            sync_folder(path.parent)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _parts(content: str | bytes | Iterator[bytes]) -> Iterable[bytes]:
    if isinstance(content, str):
        return (content.encode(),)
    return (content,) if isinstance(content, bytes) else content


def make_private(folder: Path) -> None:
    """Create a folder that only its owner can access, whatever the umask is; an existing folder keeps its mode."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.mkdir(mode=PRIVATE, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, so that they survive a power failure."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def quoted(location: object) -> str:
    """Quote a path or an address for the shell, for commands in messages.

    >>> quoted("my runs"), quoted(os.fsdecode(b"caf\\xe9"))
    ("'my runs'", "$'caf\\\\xe9'")
    """
    text = str(location)
    if text.isprintable():
        return shlex.quote(text)
    escaped = (chr(byte) if 32 <= byte < 127 and byte not in b"\\'" else f"\\x{byte:02x}" for byte in os.fsencode(text))
    return f"$'{''.join(escaped)}'"  # bash syntax for unprintable characters, such as bytes that are not UTF-8
