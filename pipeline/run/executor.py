"""Run a schedule on a cluster, through what may go wrong there.

A task that raises is set aside with its reason, and the rest goes on. Reading and writing is tried again. A worker that
dies takes all tasks with it that were waiting there, so those are tried again a few at a time, the last time each with
nothing else beside it, and only a task that dies with its worker even then is to blame. A full disk, damaged input and
a lost cluster stop the run, in words.
"""

import errno
import logging
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from queue import Empty, SimpleQueue
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError, UnseenError
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.errors import FailedError, PipelineError, UnreachableError
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.question import tell
from kernel_pipeline.run.schedule import Errand, Schedule
from kernel_pipeline.run.worker import run_errand, stop_taking
from kernel_pipeline.run.worker_pool import LOST, Attendance
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.inputs import Total
from kernel_pipeline.store.reports import Finished

log = logging.getLogger("kernel_pipeline")

# Enough tasks wait at each worker to hide the way to the driver and back; the rest stay with the driver.
WAITING_A_THREAD = 3
# How often an errand is tried that cannot read or write, and how often one that takes its worker down.
ATTEMPTS = 3
# Of all that can run at once, how much may be suspects: one that kills its worker takes others with it.
SUSPECTS_A_THREAD = 0.25
SECONDS_BETWEEN_LOOKS = 0.2
SECONDS_BEFORE_RETRY = 1.0
# How long reports may take; with a worker that is gone they only come when another one has done the work again.
SECONDS_TO_FETCH = 20.0
SECONDS_TO_CANCEL = 2.0
# A disk that is full, gone or not ours does not mend itself in a second.
STORAGE_IS_GONE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOENT)


@contextmanager
def _in_touch() -> Iterator[None]:
    """Say in words that the scheduler is gone; Dask's connections raise an OSError without a number then."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise ClusterError(LOST) from None


class Execution:
    """One walk through a schedule.

    Parameters
    ----------
    inputs
        Gives the ledger's digests of what a task reads, once that is finished; empty where nothing is to be checked.
    """

    def __init__(
        self,
        cluster: Cluster,
        schedule: Schedule,
        store: RunStore,
        record: Callable[[list[Finished]], None],
        welcome: Callable[[Collection[str]], None],
        interrupt: Interrupt,
        fail_fast: bool,
        say: Callable[[str], None],
        inputs: Callable[[Task], tuple[Total, ...]] | None = None,
    ) -> None:
        self._client: Client = cluster.client
        self._id = uuid4().hex[:8]
        """Tells this walk from all others that the same workers see."""
        self._attendance = Attendance(cluster, welcome, say)
        self._schedule, self._store, self._record = schedule, store, record
        self._interrupt, self._fail_fast, self._say = interrupt, fail_fast, say
        self._inputs = inputs
        self._running: dict[str, Errand] = {}
        self._sent: dict[str, Future[list[Finished]]] = {}
        """What the scheduler has of us, by key."""
        self._arrived: SimpleQueue[Future[list[Finished]]] = SimpleQueue()
        self._attempts: Counter[str] = Counter()
        self._suspects: deque[Errand] = deque()
        self._suspect_keys: set[str] = set()
        self._last_chances: deque[Errand] = deque()
        self._last_chance_key = ""
        self._later: list[tuple[float, Errand]] = []
        self._trouble: Exception | None = None
        self._stopped = False

    @_in_touch()
    def run(self) -> None:
        """Run all that can run; raises what stopped it, after what was in flight has ended.

        Whatever ends it, the scheduler, which may keep running, is left without a task of it.
        """
        try:
            self._walk()
        finally:
            self._cancel()

    def _walk(self) -> None:
        while True:
            self._attendance.count()
            if self._interrupt.requested or self._trouble:
                self._stop()
            elif self._attendance.known:
                self._submit()
            if not self._running and (self._stopped or (self._attendance.known and not self._later)):
                break
            try:
                arrived = [self._arrived.get(timeout=SECONDS_BETWEEN_LOOKS)]
            except Empty:
                continue
            while not self._arrived.empty():
                arrived.append(self._arrived.get())
            self._take_in(arrived)
        if self._trouble:
            raise self._trouble

    def _cancel(self) -> None:
        """Take back what was sent and has not ended. What a worker already runs meets the fence when it writes."""
        left = list(self._sent.values())
        if left and self._client.status == "running":
            with suppress(Exception):  # a scheduler that does not answer forgets a client that is gone
                self._client.sync(
                    lambda: self._client.cancel(left, force=True, asynchronous=True), callback_timeout=SECONDS_TO_CANCEL
                )

    def _submit(self) -> None:
        if self._last_chance_key in self._running:
            return  # it runs with nothing beside it: who dies then is to blame
        if self._last_chances:
            if not self._running:
                (self._last_chance_key,) = self._send([self._last_chances.popleft()])
            return
        most = self._attendance.hands * WAITING_A_THREAD
        errands = list(islice(iter(self._schedule.take, None), max(0, most - len(self._running))))
        self._suspect_keys &= self._running.keys()
        room = max(1, int(self._attendance.hands * SUSPECTS_A_THREAD)) - len(self._suspect_keys)
        suspects = [self._suspects.popleft() for _ in range(min(room, len(self._suspects)))]
        self._suspect_keys.update(self._send(suspects))
        now = time.monotonic()
        due = [errand for when, errand in self._later if when <= now]
        self._later = [(when, errand) for when, errand in self._later if when > now]
        self._send(errands + due)

    def _send(self, errands: list[Errand]) -> list[str]:
        """Give errands to the scheduler, in one message; returns their keys."""
        if not errands:
            return []
        keys = [self._key(errand) for errand in errands]
        self._running |= zip(keys, errands, strict=True)
        # Deaths of workers are counted here; a scheduler that is not ours has its own count, which comes first.
        inputs = [[self._inputs(task) for task in errand] if self._inputs else [] for errand in errands]
        for future in self._client.map(
            run_errand, errands, inputs, store=self._store, run=self._id, code=fingerprint(), key=keys, pure=False
        ):
            self._sent[str(future.key)] = future
            future.add_done_callback(self._arrived.put)
        return keys

    def _key(self, errand: Errand) -> str:
        name = _name(errand)
        # Up to the dash it is what the scheduler keeps a record of for good: one a stage, not one a task.
        return f"{errand[0].stage}-{self._attempts[name] + 1}/{name}/{self._id}"

    def _stop(self) -> None:
        """Let workers finish what they do, and leave alone what only waits for them."""
        if not self._stopped:
            self._stopped = True
            self._attendance.welcome = self._tell_to_stop  # those who come only now
            self._tell_to_stop(None)
        if not self._attendance.present:
            self._running.clear()  # it waits for a worker that may never come, and has not begun
        # Of those that a worker has, one for each thread runs; the others leave when they get there.
        running = min(len(self._running), self._attendance.hands)
        if self._interrupt.requested and running and self._interrupt.count_down(running):
            self._running.clear()

    def _tell_to_stop(self, workers: Collection[str] | None) -> None:
        """Tell some workers, or all of them."""
        told = list(workers) if workers else None
        tell(partial(self._client.run, stop_taking, self._id, workers=told, on_error="ignore"))

    def _take_in(self, arrived: list[Future[list[Finished]]]) -> None:
        """Record what is done, all at once, and see to what is not."""
        done: list[Finished] = []
        try:
            fetched = self._fetch(arrived)
        except TimeoutError:  # they are there, so they are asked for again once the cluster answers
            late = [future for future in arrived if future.status == "finished"]
            for future in late:
                self._arrived.put(future)
            arrived, fetched = [future for future in arrived if future not in late], {}
        is_lost = False
        for future in arrived:
            key = str(future.key)
            errand = self._running.pop(key)
            self._sent.pop(key, None)
            if key not in fetched and future.status in ("lost", "pending"):  # its worker died with the report
                self._later.append((time.monotonic() + SECONDS_BEFORE_RETRY, errand))
                future.release()
                continue
            try:
                found = fetched[key] if key in fetched else future.result(timeout=SECONDS_TO_FETCH)
            except (CancelledError, CommClosedError):
                is_lost = True
            except Exception as error:
                done += self._failed(errand, error)
            else:
                done += found
                if found:
                    self._schedule.finish(errand)
            future.release()
        self._record(done)
        if is_lost:  # nobody is left to tell, or to wait for
            raise self._trouble or ClusterError(LOST)
        if self._fail_fast and (failures := [f"{entry.name}: {why}" for entry in done for why in entry.failures]):
            again = "The same command with --retry-failed goes on and tries it again"
            self._trouble = self._trouble or FailedError(f"stopped at the first failure, {failures[0]}. {again}")

    def _fetch(self, arrived: list[Future[list[Finished]]]) -> dict[str, list[Finished]]:
        """What the errands that ended well report, by key: one way to the workers and back for all of them."""
        ended_well = [future for future in arrived if future.status == "finished"]
        try:
            reports = self._client.sync(
                lambda: self._client.gather(ended_well, asynchronous=True), callback_timeout=SECONDS_TO_FETCH
            )
        except TimeoutError:
            raise
        except Exception as error:  # as when a worker dies with its report; each then says its own, or comes again
            log.warning("%d reports cannot be fetched: %s: %s", len(ended_well), type(error).__name__, error)
            return {}
        return {str(future.key): report for future, report in zip(ended_well, reports, strict=True)}

    def _failed(self, errand: Errand, error: Exception) -> list[Finished]:
        """Try again, or give up: one errand alone, or all of the run."""
        name = _name(errand)
        self._attempts[name] += 1
        log.warning("attempt %d of %s: %s: %s", self._attempts[name], name, type(error).__name__, error)
        if isinstance(error, UnseenError) and not self._store.root.is_there():  # nobody does
            error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(self._store.root))
        gone = isinstance(error, OSError) and error.errno in STORAGE_IS_GONE
        if gone or isinstance(error, DamagedError | ClusterError | PipelineError):
            self._trouble = self._trouble or error
            return []
        if isinstance(error, ImportError):  # no fault of the task: something is not installed
            self._trouble = self._trouble or ClusterError(f"a worker cannot run the tasks of this driver: {error}")
            return []
        if isinstance(error, KilledWorker) and self._attempts[name] < ATTEMPTS:
            last = self._attempts[name] == ATTEMPTS - 1
            (self._last_chances if last else self._suspects).append(errand)
            return []
        if isinstance(error, OSError) and self._attempts[name] < ATTEMPTS:
            self._later.append((time.monotonic() + SECONDS_BEFORE_RETRY * self._attempts[name], errand))
            return []
        if isinstance(error, UnreachableError):  # as long as the store is away, the next task would fare no better
            self._trouble = self._trouble or error
            return []
        if len(errand) > 1:  # one of them is to blame, and the others should not suffer for it
            for alone in self._schedule.split(errand):
                self._later.append((time.monotonic(), alone))
            return []
        if isinstance(error, KilledWorker):
            used = self._attendance.pauses.restarted.get(error.last_worker.address)
            reason = f"its worker died {ATTEMPTS} times: killed, or out of memory"
            if used:  # it ran with nothing beside it
                reason = f"it needs more memory than a worker has: the last of {ATTEMPTS} that ran it used {used}"
        else:
            reason = f"{type(error).__name__}: {error}"
        self._schedule.finish(errand, failed=True)
        return [
            Finished(task.name, task.identity, {}, {}, seconds=0.0, peak_memory=0, failed=f"failed: {reason}")
            for task in errand
        ]


def _name(errand: Errand) -> str:
    """Of the errand, or of the one task that is sent alone."""
    return errand[0].errand if len(errand) > 1 else errand[0].name
