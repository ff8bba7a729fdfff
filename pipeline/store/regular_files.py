"""Open files below a run directory only if they are regular files, and never through a link.

A run directory may come from someone else. A link in it could point anywhere, opening a FIFO would block, and a sparse
file may claim any size. The path of the directory itself may contain links, since the user has chosen it.
"""

import os
import stat
from errno import ELOOP, EMLINK, ENXIO
from pathlib import Path

from kernel_pipeline.errors import RefusedError

MAX_FILE_BYTES = 128 << 20
"""Maximum size of a file that is read into memory as a whole: metadata of an array, a table that is shown."""
MAX_TEXT_BYTES = 16 << 20
"""Maximum size of a small text file, such as the config or the environment."""
SAFE_FLAGS = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class IrregularError(RefusedError):
    """A path in a run directory contains a link, or is not a regular file where one is expected."""

    def __init__(
        self, path: str | Path, what: str, reason: str = "a run directory contains only folders and regular files"
    ) -> None:
        super().__init__(
            f"{path} is {what}; {reason}. Find out where it came from, and move it out of the run directory"
        )


def first_link(root: str | Path, key: str) -> str:
    """Return the first prefix of a key that is a link; empty if there is none."""
    prefix = ""
    for part in key.split("/"):
        prefix = f"{prefix}/{part}" if prefix else part
        try:
            mode = os.lstat(f"{root}/{prefix}").st_mode
        except (FileNotFoundError, NotADirectoryError):
            return ""
        if stat.S_ISLNK(mode):
            return prefix
    return ""


def path_inside(root: str | Path, key: str, known: set[str] | None = None) -> str:
    """Return the path of a key; raise an `IrregularError` if one of its folders is a link.

    The last part of the path is not checked.

    Parameters
    ----------
    known
        Folders that were checked earlier; the folder of this key is added. This speeds up repeated calls.
    """
    folder = key.rpartition("/")[0]
    if folder and (known is None or folder not in known):
        if link := first_link(root, folder):
            raise IrregularError(f"{root}/{link}", "a link")
        if known is not None:
            known.add(folder)
    return f"{root}/{key}"


def open_regular(path: str | Path, flags: int = os.O_RDONLY, mode: int = 0o666) -> int:
    """Open a regular file without blocking and return its descriptor; raise an `IrregularError` for anything else."""
    try:
        descriptor = os.open(path, flags | SAFE_FLAGS, mode)
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
    """Raise a `RefusedError` if the size of a file exceeds a limit."""
    if size > limit:
        raise RefusedError(
            f"{path} has {size:,} bytes; at most {limit:,} are allowed. It is damaged, or was not written by a "
            "run: restore it from a backup, or choose another directory with --out"
        )


def is_regular(path: str | Path) -> bool:
    """Return whether a path is a regular file, and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
