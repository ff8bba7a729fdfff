"""What to do about a batch that failed: run it again, give it up, or stop the run.

A task that raises is given up, and the rest of the run continues. Errors of reading and writing are retried. A worker
that dies takes all tasks with it that were waiting there, so these are run again a few at a time, the last time each
with nothing beside it: only a task whose worker dies even then is to blame. A full disk, damaged inputs and a lost
cluster stop the run.
"""

import errno
import logging
import os
import time
from collections import Counter, deque
from dataclasses import dataclass

from distributed import KilledWorker

from kernel_pipeline.cluster.errors import ClusterError, UnseenError
from kernel_pipeline.errors import PipelineError, UnreachableError
from kernel_pipeline.run.schedule import TaskBatch
from kernel_pipeline.store.arrays import DamagedError
from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")

MAX_ATTEMPTS = 3
"""How often a batch is run that cannot read or write, or whose worker dies."""
SUSPECTS_PER_WORKER = 0.25
"""Share of the capacity that suspects may take: one that kills its worker takes other tasks with it."""
RETRY_DELAY_S = 1.0
# A disk that is full, gone or not ours is not repaired within a second.
STORAGE_IS_GONE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)


@dataclass(frozen=True)
class StopRun:
    """The run cannot continue."""

    error: Exception


@dataclass(frozen=True)
class GiveUp:
    """The batch is not run again."""

    reason: str


def batch_name(batch: TaskBatch) -> str:
    """Return a name that no other batch in flight has, unlike `batch_key`."""
    return f"{batch[0].name}+{len(batch) - 1}" if len(batch) > 1 else batch[0].name


class Retries:
    """Batches that are to run again.

    Parameters
    ----------
    root
        Where the arrays of the run are.
    """

    def __init__(self, root: Storage) -> None:
        self._root = root
        self.attempts: Counter[str] = Counter()
        """How often each batch has failed, by name."""
        self.suspects: deque[TaskBatch] = deque()
        """Batches whose workers died."""
        self.last_chances: deque[TaskBatch] = deque()
        """Batches that run once more, with nothing beside them."""
        self._later: list[tuple[float, TaskBatch]] = []

    def __bool__(self) -> bool:
        return bool(self._later)

    def add(self, batch: TaskBatch, delay: float = RETRY_DELAY_S) -> None:
        """Run a batch again after a while."""
        self._later.append((time.monotonic() + delay, batch))

    def take_due(self) -> list[TaskBatch]:
        """Take the batches whose time has come."""
        now = time.monotonic()
        due = [batch for when, batch in self._later if when <= now]
        self._later = [(when, batch) for when, batch in self._later if when > now]
        return due

    def take_suspects(self, capacity: int, running: int) -> list[TaskBatch]:
        """Take as many suspects as may run, given how many of them already do."""
        room = max(1, int(capacity * SUSPECTS_PER_WORKER)) - running
        return [self.suspects.popleft() for _ in range(min(room, len(self.suspects)))]

    def decide(self, batch: TaskBatch, error: Exception, memory_used: str | None) -> StopRun | GiveUp | None:
        """Decide about a batch that failed.

        Parameters
        ----------
        memory_used
            The memory of the worker that was restarted for using too much, if that is what happened.

        Returns
        -------
        decision
            None if the batch is run again, as a whole or task by task.
        """
        name = batch_name(batch)
        self.attempts[name] += 1
        attempt = self.attempts[name]
        log.warning("attempt %d of %s: %s: %s", attempt, name, type(error).__name__, error)
        if (stopped := self._stops_run(error)) is not None:
            return StopRun(stopped)
        if isinstance(error, KilledWorker) and attempt < MAX_ATTEMPTS:
            (self.last_chances if attempt == MAX_ATTEMPTS - 1 else self.suspects).append(batch)
            return None
        if isinstance(error, OSError) and attempt < MAX_ATTEMPTS:
            self.add(batch, RETRY_DELAY_S * attempt)
            return None
        if isinstance(error, UnreachableError):  # while the store is away, other tasks would fail too
            return StopRun(error)
        if len(batch) > 1:  # one of the tasks is to blame, and the others should not suffer for it
            for task in batch:
                self.add((task,), 0.0)
            return None
        return GiveUp(_reason(error, memory_used))

    def _stops_run(self, error: Exception) -> Exception | None:
        if isinstance(error, UnseenError) and not self._root.exists():  # no worker sees it
            return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._root))
        if isinstance(error, OSError) and error.errno in STORAGE_IS_GONE:
            return error
        if isinstance(error, DamagedError | ClusterError | PipelineError):
            return error
        if isinstance(error, ImportError):  # not the fault of the task: something is not installed
            return ClusterError(f"a worker cannot run the tasks of this driver: {error}")
        return None


def _reason(error: Exception, memory_used: str | None) -> str:
    if not isinstance(error, KilledWorker):
        return f"{type(error).__name__}: {error}"
    if memory_used:  # the task ran with nothing beside it
        return f"it needs more memory than a worker has: the last of {MAX_ATTEMPTS} that ran it used {memory_used}"
    return f"its worker died {MAX_ATTEMPTS} times: killed, or out of memory"
