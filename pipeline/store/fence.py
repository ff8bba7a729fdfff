"""Allow writes to the arrays of a run only on behalf of the driver process that holds its lock.

A driver generates a random token each time it takes the lock. The token is stored in the lock, and every task carries
it. A task that outlives its driver, on a scheduler that keeps running or on a host that lost its connection, finds
another token or no lock before it writes, and stops. In a folder, the lock is read immediately before a chunk is
replaced, so a late write is possible only during a rename. In an object store, it is read before a write only if it was
last read more than `Storage.seconds_to_trust_lock` ago, so a late write is possible during this time and during the
upload that follows. The digests in the ledger detect late writes.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kernel_pipeline.errors import StorageError, SupersededError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.journal import moved_error
from kernel_pipeline.store.lock import MAX_LOCK_BYTES, Holder
from kernel_pipeline.store.paths import LOCK

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage


class Fence:
    """Check that a lock still contains a token.

    Parameters
    ----------
    root
        Storage that contains the lock: the run directory, or the storage of its arrays.
    token
        Token of the driver's lock. If empty, every write is allowed.
    """

    def __init__(self, root: "Storage", token: str) -> None:
        self.root, self.token = root, token
        self._checked = float("-inf")

    def check(self, now: bool = False) -> None:
        """Raise a `SupersededError` unless the lock contains the token.

        Parameters
        ----------
        now
            Whether to read the lock even if it was read less than `Storage.seconds_to_trust_lock` ago.
        """
        if not self.token:
            return
        begin = time.monotonic()
        if not now and begin - self._checked < self.root.seconds_to_trust_lock:
            return
        found = _holder(self.root)
        if found is None or found.token != self.token:
            raise _superseded_error(self.root, found)
        self._checked = begin


@contextmanager
def guarded_arrays(root: "Storage", arrays: "Storage", token: str) -> Iterator[None]:
    """Copy the lock of a run to the storage of its arrays, if it is separate; workers access only that storage.

    The copy decides only who may write arrays. Each new holder of the lock of the run replaces it.
    """
    if not token or arrays.address == root.address:
        yield
        return
    arrays.write(LOCK, root.read(LOCK, MAX_LOCK_BYTES))
    try:
        yield
    finally:
        # A copy that cannot be removed is harmless: the next run replaces it.
        with suppress(OSError):
            found = _holder(arrays)
            if found is not None and found.token == token:
                arrays.remove(LOCK)


def _holder(root: "Storage") -> Holder | None:
    try:
        return Holder.of(root.read(LOCK, MAX_LOCK_BYTES))
    except FileNotFoundError:
        return None


def _superseded_error(root: "Storage", found: Holder | None) -> SupersededError | StorageError:
    if not root.exists():
        return moved_error(root)
    if found is None:
        return SupersededError(
            f"the lock of {root} no longer exists: its run has ended, or the lock was removed. This run stops writing. "
            f"Resume it with `pipeline resume {quoted(root)}`"
        )
    return SupersededError(
        f"{root} was taken over by {found}. This run stops writing. "
        f"`pipeline status {quoted(root)}` shows the progress of the other run"
    )
