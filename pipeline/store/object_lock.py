"""Lock a run in an object store with conditional puts, so that only one run at a time writes to it.

An object is not removed when its writer ends. A lock that was taken on this system counts as held while its process is
alive. A lock of another host or container must be removed with `pipeline unlock`, unless it was taken by the same
batch job before it was requeued.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import psutil

from kernel_pipeline.errors import CHOOSE_DIRECTORY, RefusedError, UnreachableError
from kernel_pipeline.store.lock import MAX_LOCK_BYTES, Holder, in_use_error
from kernel_pipeline.store.paths import LOCK

if TYPE_CHECKING:
    from kernel_pipeline.store.object_storage import ObjectStorage

CLOCK_TOLERANCE_S = 2.0
"""Tolerance between the start time of a process and the time in a lock, which is in whole seconds."""


@contextmanager
def locked(root: "ObjectStorage") -> Iterator[str]:
    """Hold the lock of a run, and yield its token.

    Raises
    ------
    RefusedError
        If another process holds the lock, or the object store cannot be written to.
    """
    # The token distinguishes this lock from others: containers may share host names and process numbers.
    holder = Holder.this_process()
    own = holder.content()
    try:
        _take(root, own)
    except UnreachableError as error:
        raise RefusedError(f"{root} cannot be written to: {error.strerror}. {CHOOSE_DIRECTORY}") from None
    try:
        yield holder.token
    finally:
        # If the store cannot be reached, the lock remains; the next run takes it over once this process has ended.
        with suppress(UnreachableError, FileNotFoundError):
            if root.read(LOCK) == own:
                root.remove(LOCK)


def holder(root: "ObjectStorage") -> Holder | None:
    """Return the holder of the lock of a run; None if it is free or its holder is known to have ended."""
    found = _read(root)[0]
    return None if found is None or _has_ended(found) else found


def unlock(root: "ObjectStorage") -> Holder | None:
    """Remove the lock that a dead run left behind, and return its holder; raise an error if the holder is alive."""
    found, tag = _read(root)
    if found and found.is_of_this_system and not _has_ended(found):
        raise in_use_error(root, found)
    if tag:
        root.remove(LOCK)
    return found


def _take(root: "ObjectStorage", own: bytes) -> None:
    if root.create(LOCK, own):
        return
    found, tag = _read(root)
    is_free = found is None or _has_ended(found)
    # If several processes take over the lock at once, only one finds it unchanged.
    if not is_free or not (root.replace(LOCK, own, tag) if tag else root.create(LOCK, own)):
        raise in_use_error(root, _read(root)[0])


def _read(root: "ObjectStorage") -> tuple[Holder | None, str]:
    """Return the holder that a lock names, if it can be read, and the tag of the lock, if it exists."""
    try:
        content, tag = root.read_tagged(LOCK, MAX_LOCK_BYTES)
    except FileNotFoundError:
        return None, ""
    return Holder.of(content), tag


def _has_ended(found: Holder) -> bool:
    """Return whether the holder of a lock is known to have ended."""
    if found.is_of_this_system:
        return not _is_alive(found)
    return found.is_of_earlier_start or found.is_of_earlier_boot


def _is_alive(found: Holder) -> bool:
    """Return whether the process that took a lock is alive; its process number may have been reused since."""
    try:
        started: float = psutil.Process(found.pid).create_time()
        return started <= datetime.fromisoformat(found.since).timestamp() + CLOCK_TOLERANCE_S
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, ValueError):
        return True
