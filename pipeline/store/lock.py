"""One run at a time in a run directory.

The lock is a file that the operating system locks for as long as its holder lives: a process that dies lets go of it,
whatever killed it, and nobody has to guess from a process number. Its content says who holds it. Two hosts on one file
system may not see each other's locks, so a lock that names another host is only removed by hand; but for one of the
same batch job, which is of an earlier life of it.
"""

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Self

from kernel_pipeline.errors import CHECK_DISK, DISK_IS_FULL, RefusedError, StorageError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.paths import LOCK
from kernel_pipeline.store.regular_files import open_regular, read_regular
from kernel_pipeline.store.system import FIRST_PROCESSES, system_facts

NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL)
"""What a file system says that has no such locks; some of clusters have none."""

MAX_BYTES = 1 << 16
"""Of what a lock says."""

PATIENCE = 0.2
"""Seconds before a lock counts as held: who only looks whether it is, holds it for an instant."""


@dataclass(frozen=True)
class Holder:
    """Who holds a lock."""

    host: str
    pid: int
    since: str
    job: str = ""
    """The job of Slurm that it runs in, if any."""
    life: int = 0
    """How often that job has gone back to the queue."""
    machine: str = ""
    boot: str = ""
    processes: str = ""
    """The system that it runs in (`kernel_pipeline.store.system`)."""
    token: str = ""
    """Random, so that no two holders have the same; tasks carry it (`kernel_pipeline.store.fence`)."""

    def __str__(self) -> str:
        job = f" in job {self.job}" if self.job else ""
        return f"process {self.pid} on {self.host}{job}, since {self.since}"

    @classmethod
    def this_process(cls) -> Self:
        """Who would hold a lock that is taken now."""
        now = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
        job, life = os.environ.get("SLURM_JOB_ID", ""), os.environ.get("SLURM_RESTART_COUNT", "")
        restarts = int(life) if life.isdigit() else 0
        return cls(socket.gethostname(), os.getpid(), now, job, restarts, **system_facts(), token=token_hex(8))

    @property
    def is_here(self) -> bool:
        """Whether it is, or was, a process of this host."""
        return self.host == socket.gethostname()

    @property
    def is_of_this_system(self) -> bool:
        """Whether its process number is one of those that this process sees.

        Only locks of earlier versions, which do not say, go by the name of the host alone.
        """
        now = self.this_process()
        known = bool(self.boot)
        return self.is_here and (not known or (self.boot, self.processes) == (now.boot, now.processes))

    @property
    def is_earlier_boot(self) -> bool:
        """Whether it was a process of this machine, outside any container, before the machine was started again."""
        now = self.this_process()
        is_same_machine = self.is_here and bool(self.machine) and self.machine == now.machine
        outside = self.processes == now.processes == FIRST_PROCESSES
        return is_same_machine and outside and self.boot != now.boot

    @property
    def is_earlier_life(self) -> bool:
        """Whether it was the same job, which has gone back to the queue and been started anew since."""
        now = self.this_process()
        return bool(self.job) and self.job == now.job and self.life < now.life

    def content(self) -> bytes:
        """What a lock says of it."""
        return json.dumps(asdict(self)).encode()

    @classmethod
    def of(cls, content: bytes) -> Self | None:
        """From what a lock says; None if it says nothing, being just made."""
        try:
            found = cls(**parse_json(content))
        except (ValueError, TypeError):
            return None
        values = ((getattr(found, field.name), field.type) for field in fields(cls))
        return found if all(type(value) is kind for value, kind in values) else None


@contextmanager
def locked(root: Path) -> Iterator[str]:
    """Hold the lock of a run directory, or refuse to go on, saying who holds it; gives the token of the lock."""
    path, own = root / LOCK, Holder.this_process()
    descriptor = _take(path, own)
    try:
        yield own.token
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
    return None if found is None or (free and (found.is_here or found.is_earlier_life)) else found


def unlock(root: Path) -> Holder | None:
    """Remove the lock that a dead run left; gives its holder. One that is known to live is left alone."""
    path = root / LOCK
    try:
        descriptor, free = _try(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if free is False:
            raise in_use(path.parent, _read(path))
        found = _read(path)
        if _is_still(path, descriptor):
            path.unlink()
        return found
    finally:
        os.close(descriptor)


def _take(path: Path, own: Holder) -> int:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            (descriptor, free), is_new = _try(path, os.O_RDWR | os.O_CREAT | os.O_EXCL), True
        except FileExistsError:
            try:
                (descriptor, free), is_new = _try(path, os.O_RDWR), False
            except FileNotFoundError:  # removed as we came
                continue
        if free is None:  # the best that can be done without locks
            found = _read(path)
            free = is_new or (found is not None and found.is_earlier_life)
            if not free:
                os.close(descriptor)
                raise _may_be_in_use(path.parent, found)
        if free and _is_still(path, descriptor):
            break
        os.close(descriptor)  # someone holds it, or removed it as we came
        if not free and time.monotonic() > end:
            raise in_use(path.parent, _read(path))
        time.sleep(PATIENCE / 10)
    try:
        found = _read(path)
        if found and not (found.is_here or found.is_earlier_life):
            raise in_use(path.parent, _read(path))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, own.content(), 0)
        os.fdatasync(descriptor)  # it stays open, and workers on other hosts read it
    except OSError as error:
        path.unlink()
        os.close(descriptor)
        remedy = "Make space, and the same command goes on" if error.errno in DISK_IS_FULL else CHECK_DISK
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror}. {remedy}") from error
    except RefusedError:
        os.close(descriptor)
        raise
    return descriptor


def _try(path: Path, flags: int) -> tuple[int, bool | None]:
    """Open a lock and try to get hold of it: whether it was free, or None where the file system has no locks."""
    descriptor = open_regular(path, flags, 0o644)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return descriptor, False
    except OSError as error:
        if error.errno in NO_LOCKS:
            return descriptor, None
        if flags & os.O_EXCL:
            path.unlink()
        os.close(descriptor)
        raise StorageError(f"{path} cannot be locked: {error.strerror}. {CHECK_DISK}") from error
    return descriptor, True


def in_use(root: object, found: Holder | None) -> RefusedError:
    """For a run directory that someone else works in."""
    stop = f", or stop it (`kill {found.pid}`)" if found and found.is_here else ""
    out = f"Wait for it{stop}; if that run is dead, `pipeline unlock {quoted(root)}` removes its lock"
    return RefusedError(f"{root} is in use by {found or 'a run that is just starting'}. {out}")


def _may_be_in_use(root: object, found: Holder | None) -> RefusedError:
    """For a lock file on a file system without locks, where a dead holder cannot be told from one that lives."""
    return RefusedError(
        f"{root} may be in use by {found or 'a run that is just starting'}: its file system has no locks that would "
        f"tell. If that run is dead, `pipeline unlock {quoted(root)}` removes its lock"
    )


def _is_still(path: Path, descriptor: int) -> bool:
    try:
        return path.lstat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _read(path: Path) -> Holder | None:
    """What a lock says of its holder; None if it says nothing, being just made."""
    try:
        return Holder.of(read_regular(path, MAX_BYTES))
    except (OSError, RefusedError):
        return None
