"""Decide what to do with a batch that failed: retry it, mark it as failed, or stop the run.

A task that raises an exception has failed, and the rest of the run continues. I/O errors are retried. A worker that
dies loses all tasks that were waiting there, so these are run again a few at a time, and for their last attempt one at
a time: only a task whose worker dies even then is known to be the cause. A full disk, damaged inputs and a lost cluster
stop the run.
"""

import errno
import logging
import os
import time
from collections import Counter, deque
from dataclasses import dataclass

from distributed import KilledWorker

from kernel_pipeline.cluster.errors import ClusterError, StorageUnreachableError
from kernel_pipeline.errors import PipelineError, SupersededError, UnreachableError
from kernel_pipeline.run.schedule import TaskBatch
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")

MAX_ATTEMPTS = 3
"""Number of times that a batch is run if it cannot read or write, or if its worker dies."""
SUSPECT_SHARE = 0.25
"""Share of the capacity that suspects (batches whose workers died) may use.

It is small, since a batch that kills its worker also ends the other tasks there.
"""
RETRY_DELAY_S = 1.0
# Errors of a full, missing or write-protected disk, for which a retry after a second does not help.
STORAGE_UNAVAILABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)


@dataclass(frozen=True)
class StopRun:
    """Decision to stop the run."""

    error: Exception


@dataclass(frozen=True)
class GiveUp:
    """Decision to mark the batch as failed."""

    reason: str


def batch_name(batch: TaskBatch) -> str:
    """Return a name that is unique among the batches that are running, unlike `batch_key`."""
    return f"{batch[0].name}+{len(batch) - 1}" if len(batch) > 1 else batch[0].name


class Retries:
    """Batches that are to run again.

    Parameters
    ----------
    root
        The storage of the arrays.
    """

    def __init__(self, root: Storage) -> None:
        self._root = root
        self.attempts: Counter[str] = Counter()
        """Number of times that each batch has failed, by name."""
        self.suspects: deque[TaskBatch] = deque()
        """Batches whose workers died."""
        self.last_attempts: deque[TaskBatch] = deque()
        """Batches that run once more, one at a time."""
        self._later: list[tuple[float, TaskBatch]] = []

    @property
    def has_delayed(self) -> bool:
        """Return whether batches are to be retried after a delay; suspects and last attempts are retried without it."""
        return bool(self._later)

    def add(self, batch: TaskBatch, delay: float = RETRY_DELAY_S) -> None:
        """Run a batch again after a delay."""
        self._later.append((time.monotonic() + delay, batch))

    def take_due(self) -> list[TaskBatch]:
        """Take the batches whose delay has passed."""
        now = time.monotonic()
        due = [batch for when, batch in self._later if when <= now]
        self._later = [(when, batch) for when, batch in self._later if when > now]
        return due

    def take_suspects(self, capacity: int, running: int) -> list[TaskBatch]:
        """Take as many suspects as may run, given the number of those that are running."""
        free = max(1, int(capacity * SUSPECT_SHARE)) - running
        return [self.suspects.popleft() for _ in range(min(free, len(self.suspects)))]

    def decide(self, batch: TaskBatch, error: Exception, memory_used: str | None) -> StopRun | GiveUp | None:
        """Decide what to do with a batch that failed.

        Parameters
        ----------
        memory_used
            Memory use of the worker, as text, if the worker was restarted because it used too much.

        Returns
        -------
        decision
            None if the batch is run again, as a whole or task by task.
        """
        name = batch_name(batch)
        self.attempts[name] += 1
        attempt = self.attempts[name]
        log.warning("attempt %d of %s: %s: %s", attempt, name, type(error).__name__, error)
        if (fatal := self._fatal_error(error)) is not None:
            return StopRun(fatal)
        if isinstance(error, KilledWorker) and attempt < MAX_ATTEMPTS:
            (self.last_attempts if attempt == MAX_ATTEMPTS - 1 else self.suspects).append(batch)
            return None
        if isinstance(error, OSError) and attempt < MAX_ATTEMPTS:
            self.add(batch, RETRY_DELAY_S * attempt)
            return None
        if isinstance(error, UnreachableError):  # other tasks would fail as well while the store cannot be reached
            return StopRun(error)
        if len(batch) > 1:  # only one of the tasks may be the cause, so each is run on its own
            for task in batch:
                self.add((task,), 0.0)
            return None
        return GiveUp(_reason(error, memory_used))

    def _fatal_error(self, error: Exception) -> Exception | None:
        """Return the error with which the run stops; None if the run can continue."""
        # If the directory was removed, its lock does not exist either, which looks like a takeover by another driver.
        if isinstance(error, StorageUnreachableError | SupersededError) and not self._root.exists():
            return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._root))
        if isinstance(error, OSError) and error.errno in STORAGE_UNAVAILABLE:
            return error
        if isinstance(error, DamagedError | ClusterError | PipelineError):
            return error
        if isinstance(error, ImportError):  # a package is missing on the worker, which is not a failure of the task
            return ClusterError(f"a worker cannot run the tasks of this driver: {error}")
        return None


def _reason(error: Exception, memory_used: str | None) -> str:
    if not isinstance(error, KilledWorker):
        return f"{type(error).__name__}: {error}"
    if memory_used:  # the task ran alone
        return (
            f"it needs more memory than a worker has: the last of {MAX_ATTEMPTS} workers to run it used {memory_used}"
        )
    return f"its worker died {MAX_ATTEMPTS} times: it was killed, or ran out of memory"
