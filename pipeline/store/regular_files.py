"""Files below a run directory are opened only if they are regular, and never through a link.

A run directory may come from someone else. A link in it could lead anywhere, a FIFO would block whoever opens it, and a
sparse file may claim any size. The directory itself may be reached through a link: its owner chose that.
"""

import os
import stat
from errno import ELOOP, EMLINK, ENXIO
from pathlib import Path

from kernel_pipeline.errors import RefusedError

MAX_FILE_BYTES = 128 << 20
"""Of a file that is read into memory as a whole: a description of an array, a table that is shown."""
MAX_RECORD_BYTES = 16 << 20
"""Of the config and the environment."""
SAFELY = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class IrregularError(RefusedError):
    """Something in a run directory that is not a regular file, or lies behind a link."""

    def __init__(self, path: str | Path, what: str) -> None:
        super().__init__(
            f"{path} is {what}; a run directory holds folders and regular files only. See where it came from, and move "
            "it away"
        )


def first_link(root: str | Path, key: str) -> str:
    """Return the beginning of a key at which there is a link; empty if there is none."""
    place = ""
    for part in key.split("/"):
        place = f"{place}/{part}" if place else part
        try:
            mode = os.lstat(f"{root}/{place}").st_mode
        except (FileNotFoundError, NotADirectoryError):
            return ""
        if stat.S_ISLNK(mode):
            return place
    return ""


def path_inside(root: str | Path, key: str, known: set[str] | None = None) -> str:
    """Return the path of a key; refuses one with a link on the way to it. The last part may be anything.

    Parameters
    ----------
    known
        Folders that were looked at before; those of this key are added. For many keys in a row.
    """
    folder = key.rpartition("/")[0]
    if folder and (known is None or folder not in known):
        if link := first_link(root, folder):
            raise IrregularError(f"{root}/{link}", "a link")
        if known is not None:
            known.add(folder)
    return f"{root}/{key}"


def open_regular(path: str | Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a file and return its descriptor; refuses a link, a FIFO, a folder or a device, without waiting for it."""
    try:
        descriptor = os.open(path, flags | SAFELY, mode)
    except OSError as error:
        if error.errno in (ELOOP, EMLINK):
            raise IrregularError(path, "a link") from None
        if error.errno == ENXIO:
            raise IrregularError(path, "not a regular file") from None
        raise
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    raise IrregularError(path, "not a regular file")


def read_regular(path: str | Path, limit: int) -> bytes:
    """Return the content of a file of at most `limit` bytes."""
    descriptor = open_regular(path)
    with os.fdopen(descriptor, "rb", buffering=0) as file:
        check_size(path, os.fstat(descriptor).st_size, limit)
        return file.readall()


def check_size(path: object, size: int, limit: int) -> None:
    """Refuse a file that is larger than what such files are."""
    if size > limit:
        raise RefusedError(
            f"{path} has {size:,} bytes; such a file has at most {limit:,}. It is damaged, or not what a run wrote: "
            "restore it from a copy, or choose another directory with --out"
        )


def is_regular(path: str | Path) -> bool:
    """Return whether there is a regular file, not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
