"""Lock a run directory, so that only one run at a time writes to it.

The lock is a file that its holder locks with `flock`: the operating system releases it when the process ends, however
it ends, so a stale lock is recognised without a process number. The content of the file identifies the holder. Two
hosts on one file system may not see each other's locks, so a lock of another host must be removed with
`pipeline unlock`, unless it was taken by the same batch job before it was requeued.
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
from kernel_pipeline.store.system import INITIAL_PID_NAMESPACE, system_facts

NO_LOCKS = (errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK, errno.EINVAL)
"""Error numbers of file systems without `flock`, as on some clusters."""

MAX_LOCK_BYTES = 1 << 16
"""Maximum size of a lock file."""

STORED_KEYS = {"restarts": "life", "pid_namespace": "processes"}
"""Keys of the lock file that differ from the names of the fields of `Holder`; earlier versions read and write them."""

LOCK_TIMEOUT_S = 0.2
"""Time during which taking a held lock is retried: `holder` takes it briefly to find out whether it is free."""


@dataclass(frozen=True)
class Holder:
    """The process that holds a lock."""

    host: str
    pid: int
    since: str
    job: str = ""
    """Id of the Slurm job in which the process runs, if any."""
    restarts: int = 0
    """Number of times that the job was requeued."""
    machine: str = ""
    boot: str = ""
    pid_namespace: str = ""
    """Namespace of the process number; with `machine` and `boot`, it identifies the system (`store.system`)."""
    token: str = ""
    """Random token that identifies the holder; every task carries it (`store.fence`)."""

    def __str__(self) -> str:
        job = f" in job {self.job}" if self.job else ""
        return f"process {self.pid} on {self.host}{job}, since {self.since}"

    @classmethod
    def this_process(cls) -> Self:
        """Return the holder of a lock that this process takes now."""
        now = datetime.now(UTC).astimezone().isoformat(sep=" ", timespec="seconds")
        job, count = os.environ.get("SLURM_JOB_ID", ""), os.environ.get("SLURM_RESTART_COUNT", "")
        restarts = int(count) if count.isdigit() else 0
        return cls(socket.gethostname(), os.getpid(), now, job, restarts, **system_facts(), token=token_hex(8))

    @property
    def is_on_this_host(self) -> bool:
        """Return whether the holder is, or was, a process of this host."""
        return self.host == socket.gethostname()

    @property
    def is_of_this_system(self) -> bool:
        """Return whether the process number of the holder is valid in the system of this process.

        Locks of earlier versions do not identify the system; for these only the name of the host is compared.
        """
        now = self.this_process()
        known = bool(self.boot)
        return self.is_on_this_host and (not known or (self.boot, self.pid_namespace) == (now.boot, now.pid_namespace))

    @property
    def is_of_earlier_boot(self) -> bool:
        """Return whether the holder was a process of this machine, outside any container, before the last reboot."""
        now = self.this_process()
        is_same_machine = self.is_on_this_host and bool(self.machine) and self.machine == now.machine
        outside = self.pid_namespace == now.pid_namespace == INITIAL_PID_NAMESPACE
        return is_same_machine and outside and self.boot != now.boot

    @property
    def is_of_earlier_start(self) -> bool:
        """Return whether the holder was this batch job before it was requeued and restarted."""
        now = self.this_process()
        return bool(self.job) and self.job == now.job and self.restarts < now.restarts

    def content(self) -> bytes:
        """Return the content of the lock file."""
        return json.dumps({STORED_KEYS.get(name, name): value for name, value in asdict(self).items()}).encode()

    @classmethod
    def of(cls, content: bytes) -> Self | None:
        """Return the holder from the content of a lock file; None if it is not valid, such as in a new, empty file."""
        names = {STORED_KEYS.get(field.name, field.name): field.name for field in fields(cls)}
        try:
            found = cls(**{names[key]: value for key, value in parse_json(content).items()})
        except (ValueError, TypeError, KeyError, AttributeError):  # AttributeError if the content is not an object
            return None
        values = ((getattr(found, field.name), field.type) for field in fields(cls))
        return found if all(type(value) is kind for value, kind in values) else None


@contextmanager
def locked(root: Path) -> Iterator[str]:
    """Hold the lock of a run directory, and yield its token.

    Raises
    ------
    RefusedError
        If another process holds the lock.
    """
    path, own = root / LOCK, Holder.this_process()
    descriptor = _take(path, own)
    try:
        yield own.token
    finally:
        if _is_same_file(path, descriptor):
            path.unlink()  # removed while the lock is held, so that a waiting process finds that the file was removed
        os.close(descriptor)


def holder(root: Path) -> Holder | None:
    """Return the holder of the lock of a run directory; None if it is free or its holder is known to have ended."""
    path = root / LOCK
    try:
        descriptor, free = _try_lock(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    os.close(descriptor)
    found = _read(path)
    return None if found is None or (free and (found.is_on_this_host or found.is_of_earlier_start)) else found


def unlock(root: Path) -> Holder | None:
    """Remove the lock that a dead run left behind, and return its holder; raise an error if the holder is alive."""
    path = root / LOCK
    try:
        descriptor, free = _try_lock(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        if free is False:
            raise in_use_error(path.parent, _read(path))
        found = _read(path)
        if _is_same_file(path, descriptor):
            path.unlink()
        return found
    finally:
        os.close(descriptor)


def _take(path: Path, own: Holder) -> int:
    end = time.monotonic() + LOCK_TIMEOUT_S
    while True:
        try:
            (descriptor, free), is_new = _try_lock(path, os.O_RDWR | os.O_CREAT | os.O_EXCL), True
        except FileExistsError:
            try:
                (descriptor, free), is_new = _try_lock(path, os.O_RDWR), False
            except FileNotFoundError:  # removed in the meantime
                continue
        if free is None:  # without `flock`, only a new file shows that the lock is free
            found = _read(path)
            free = is_new or (found is not None and found.is_of_earlier_start)
            if not free:
                os.close(descriptor)
                raise _may_be_in_use_error(path.parent, found)
        if free and _is_same_file(path, descriptor):
            break
        os.close(descriptor)  # another process holds it, or has just removed it
        if not free and time.monotonic() > end:
            raise in_use_error(path.parent, _read(path))
        time.sleep(LOCK_TIMEOUT_S / 10)
    try:
        found = _read(path)
        if found and not (found.is_on_this_host or found.is_of_earlier_start):
            raise in_use_error(path.parent, _read(path))
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, own.content(), 0)
        os.fdatasync(descriptor)  # the file stays open, and workers on other hosts read it
    except OSError as error:
        path.unlink()
        os.close(descriptor)
        remedy = "Free some space, then run the same command again" if error.errno in DISK_IS_FULL else CHECK_DISK
        raise StorageError(f"{path.parent} cannot be written to: {error.strerror}. {remedy}") from error
    except RefusedError:
        os.close(descriptor)
        raise
    return descriptor


def _try_lock(path: Path, flags: int) -> tuple[int, bool | None]:
    """Open a lock file and try to lock it.

    Returns
    -------
    descriptor
        The file descriptor.
    free
        Whether the lock was free; None if the file system has no locks.
    """
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


def in_use_error(root: object, found: Holder | None) -> RefusedError:
    """Return the error for a run directory that another process uses."""
    stop = f", or stop it (`kill {found.pid}`)" if found and found.is_on_this_host else ""
    remedy = f"Wait until it ends{stop}; if that run is dead, remove its lock with `pipeline unlock {quoted(root)}`"
    return RefusedError(f"{root} is in use by {found or 'a run that is just starting'}. {remedy}")


def _may_be_in_use_error(root: object, found: Holder | None) -> RefusedError:
    """Return the error for a file system without locks, where it is not known whether the holder is alive."""
    return RefusedError(
        f"{root} may be in use by {found or 'a run that is just starting'}: its file system does not support locks, so "
        f"this cannot be checked. If that run is dead, remove its lock with `pipeline unlock {quoted(root)}`"
    )


def _is_same_file(path: Path, descriptor: int) -> bool:
    try:
        return path.lstat().st_ino == os.fstat(descriptor).st_ino
    except FileNotFoundError:
        return False


def _read(path: Path) -> Holder | None:
    """Return the holder that a lock file names; None if it cannot be read, such as a new, empty file."""
    try:
        return Holder.of(read_regular(path, MAX_LOCK_BYTES))
    except (OSError, RefusedError):
        return None
