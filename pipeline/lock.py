"""One run at a time in a run directory.

The lock is a file that the operating system locks for as long as its holder lives: a process that dies lets go of it,
whatever killed it, and nobody has to guess from a process number. Its content says who holds it. Two hosts on one file
system may not see each other's locks, so a lock that names another host is only removed by hand.
"""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

from pipeline.errors import RefusedError, StorageError
from pipeline.files import quoted
from pipeline.layout import LOCK

NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL)
"""What a file system says that has no such locks; some of clusters have none."""

PATIENCE = 0.2
"""Seconds before a lock counts as held: who only looks whether it is, holds it for an instant."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock."""

    host: str
    pid: int
    since: str

    def __str__(self) -> str:
        return f"process {self.pid} on {self.host}, since {self.since}"


@contextmanager
def locked(root: Path) -> Iterator[None]:
    """Hold the lock of a run directory, or refuse to go on, saying who holds it."""
    path = root / LOCK
    descriptor = _take(path)
    try:
        yield
    finally:
        if _is_still(path, descriptor):
            path.unlink()  # while it is still held: who waits for it finds that it is gone
        os.close(descriptor)


def holder(root: Path) -> Holder | None:
    """Who works in a run directory now, as far as can be told; a dead process of this host does not."""
    path = root / LOCK
    try:
        descriptor, free = _try(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    os.close(descriptor)
    found = _read(path)
    return None if found is None or (free and found.host == socket.gethostname()) else found


def unlock(root: Path) -> Holder | None:
    """Remove the lock that a dead run left; gives its holder. One that is known to live is left alone."""
    path = root / LOCK
    try:
        descriptor, free = _try(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if free is False:
            raise _in_use(path)
        found = _read(path)
        if _is_still(path, descriptor):
            path.unlink()
        return found
    finally:
        os.close(descriptor)


def _take(path: Path) -> int:
    end = time.monotonic() + PATIENCE
    while True:
        is_new = not path.exists()
        descriptor, free = _try(path, os.O_RDWR | os.O_CREAT)
        if free is None:
            free = is_new and not os.fstat(descriptor).st_size  # the best that can be done without locks
        if free and _is_still(path, descriptor):
            break
        os.close(descriptor)  # someone holds it, or removed it as we came
        if not free and time.monotonic() > end:
            raise _in_use(path)
        time.sleep(PATIENCE / 10)
    try:
        found = _read(path)
        if found and found.host != socket.gethostname():
            raise _in_use(path)
        now = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
        content = json.dumps(asdict(Holder(socket.gethostname(), os.getpid(), now)))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, content.encode(), 0)
    except OSError as error:
        path.unlink()
        os.close(descriptor)
        raise StorageError(
            f"{path.parent} cannot be written to: {error.strerror}. Make space, and the same command goes on"
        ) from error
    except RefusedError:
        os.close(descriptor)
        raise
    return descriptor


def _try(path: Path, flags: int) -> tuple[int, bool | None]:
    """Open a lock and try to get hold of it: whether it was free, or None where the file system has no locks."""
    descriptor = os.open(path, flags | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return descriptor, None if error.errno in NO_LOCKS else False
    return descriptor, True


def _in_use(path: Path) -> RefusedError:
    found = _read(path)
    stop = f", or stop it (`kill {found.pid}`)" if found and found.host == socket.gethostname() else ""
    out = f"Wait for it{stop}; if that run is dead, `pipeline unlock {quoted(path.parent)}` removes its lock"
    return RefusedError(f"{path.parent} is in use by {found or 'a run that is just starting'}. {out}")


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.stat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _read(path: Path) -> Holder | None:
    """What a lock says of its holder; None if it says nothing, being just made."""
    try:
        return Holder(**json.loads(path.read_bytes()))
    except (OSError, ValueError, TypeError):
        return None
