"""Whether the arrays of a run may still be written: only for the driver process that its lock names.

A driver draws a random token each time it takes the lock, the lock holds it, and every task carries it. A task that
outlives its driver, on a scheduler that keeps running or on a host that lost its connection, finds another token or no
lock when it comes to write, and stops. The lock is read right before a chunk takes its place, so what is left is the
time of a rename, or of one request to an object store; digests in the ledger catch what falls into that.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from kernel_pipeline.errors import SupersededError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.lock import MAX_BYTES, Holder
from kernel_pipeline.store.paths import LOCK

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage


class Fence:
    """Checks that a lock still holds a token.

    Parameters
    ----------
    root
        Where the lock is: the run directory, or the place of its arrays.
    token
        That of the driver's lock. Empty for arrays that no driver guards, which are never refused.
    """

    def __init__(self, root: "Storage", token: str) -> None:
        self.root, self.token = root, token
        self._checked = float("-inf")

    def check(self, now: bool = False) -> None:
        """Raise a `SupersededError` unless the lock holds the token.

        Parameters
        ----------
        now
            Read the lock even where that is slow and it was read just before.
        """
        if not self.token:
            return
        begin = time.monotonic()
        if not now and begin - self._checked < self.root.seconds_to_trust_lock:
            return
        found = _holder(self.root)
        if found is None or found.token != self.token:
            raise _superseded(self.root, found)
        self._checked = begin


@contextmanager
def guarded_arrays(root: "Storage", arrays: "Storage", token: str) -> Iterator[None]:
    """Copy the lock of a run to where its arrays are, if that is elsewhere: workers see that place alone.

    The copy decides only who may write arrays. Whoever holds the lock of the run replaces it.
    """
    if not token or arrays.address == root.address:
        yield
        return
    arrays.write(LOCK, root.read(LOCK, MAX_BYTES))
    try:
        yield
    finally:
        # Where it cannot be removed, it names a run that has ended, and the next one replaces it.
        with suppress(OSError):
            found = _holder(arrays)
            if found is not None and found.token == token:
                arrays.remove(LOCK)


def _holder(root: "Storage") -> Holder | None:
    try:
        return Holder.of(root.read(LOCK, MAX_BYTES))
    except FileNotFoundError:
        return None


def _superseded(root: "Storage", found: Holder | None) -> SupersededError:
    if found is None:
        return SupersededError(
            f"the lock of {root} is gone: the run that it was of has ended, or someone removed it. Nothing more is "
            f"written for that run. `pipeline resume {quoted(root)}` goes on with it"
        )
    return SupersededError(
        f"{root} was taken over by {found}. Nothing more is written for the run before. "
        f"`pipeline status {quoted(root)}` says how far it is"
    )
