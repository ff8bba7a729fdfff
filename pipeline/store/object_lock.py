"""One run at a time in an object store, by puts that name what they expect to find.

No lock of an object ends with its holder. One of this system is held for as long as its process lives; one of another
host or container until it is removed by hand, but for one of the same batch job, which is of an earlier life of it.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import TYPE_CHECKING

import psutil

from kernel_pipeline.errors import ELSEWHERE, RefusedError, UnreachableError
from kernel_pipeline.store.lock import MAX_BYTES, Holder, in_use
from kernel_pipeline.store.paths import LOCK

if TYPE_CHECKING:
    from kernel_pipeline.store.object_storage import ObjectStorage

CLOCK_SECONDS = 2.0
"""By how much the clocks of processes and of locks, which count whole seconds, may differ."""


@contextmanager
def locked(root: "ObjectStorage") -> Iterator[str]:
    """Hold the lock of a run, or refuse to go on, saying who holds it; gives the token of the lock."""
    # The token tells this lock from any other: hosts in containers may share names and process numbers.
    holder = Holder.this_process()
    own = holder.content()
    try:
        _take(root, own)
    except UnreachableError as error:
        raise RefusedError(f"{root} cannot be written to: {error.strerror}. {ELSEWHERE}") from None
    try:
        yield holder.token
    finally:
        # A store that is away keeps the lock; once this process is gone, the next run takes it over.
        with suppress(UnreachableError, FileNotFoundError):
            if root.read(LOCK) == own:
                root.remove(LOCK)


def holder(root: "ObjectStorage") -> Holder | None:
    """Who works in a run now, as far as can be told."""
    found = _read(root)[0]
    return None if found is None or _is_over(found) else found


def unlock(root: "ObjectStorage") -> Holder | None:
    """Remove the lock that a dead run left; gives its holder. One that is known to live is left alone."""
    found, tag = _read(root)
    if found and found.is_of_this_system and not _is_over(found):
        raise in_use(root, found)
    if tag:
        root.remove(LOCK)
    return found


def _take(root: "ObjectStorage", own: bytes) -> None:
    if root.create(LOCK, own):
        return
    found, tag = _read(root)
    over = found is None or _is_over(found)
    # Of those that come to take over a lock, one finds it as it was.
    if not over or not (root.replace(LOCK, own, tag) if tag else root.create(LOCK, own)):
        raise in_use(root, _read(root)[0])


def _read(root: "ObjectStorage") -> tuple[Holder | None, str]:
    """What a lock says of its holder, if it can be read, and its tag, if there is one."""
    try:
        content, tag = root.read_tagged(LOCK, MAX_BYTES)
    except FileNotFoundError:
        return None, ""
    return Holder.of(content), tag


def _is_over(found: Holder) -> bool:
    """Whether the run that took a lock has ended, for all that can be told from here."""
    if found.is_of_this_system:
        return not _lives(found)
    return found.is_earlier_life or found.is_earlier_boot


def _lives(found: Holder) -> bool:
    """Whether a process of this host is still the one that took a lock: its number may be another's by now."""
    try:
        started: float = psutil.Process(found.pid).create_time()
        return started <= datetime.fromisoformat(found.since).timestamp() + CLOCK_SECONDS
    except psutil.NoSuchProcess:
        return False
    except (psutil.Error, ValueError):
        return True
