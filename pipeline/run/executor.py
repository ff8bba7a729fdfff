"""Run a schedule on a cluster.

Tasks are submitted to Dask together with the futures of the tasks that they need, so that Dask sees the edges of the
graph. Only a window of the graph is known to the scheduler at a time.
"""

import logging
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from distributed import CancelledError, Client, Future, KilledWorker
from distributed.comm.core import CommClosedError

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.errors import FailedError
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.question import tell
from kernel_pipeline.run.retries import GiveUp, Retries, StopRun, batch_name
from kernel_pipeline.run.schedule import Schedule, TaskBatch
from kernel_pipeline.run.worker import run_batch, stop_taking
from kernel_pipeline.run.worker_pool import LOST, WorkerPool
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Total
from kernel_pipeline.store.reports import Finished

log = logging.getLogger("kernel_pipeline")

TASKS_PER_WORKER = 3
"""Batches that can run and wait at each worker, to hide the way to the driver and back."""
AHEAD_PER_WORKER = 3
"""Batches that wait for others, for each worker."""
POLL_INTERVAL_S = 0.2
# With a worker that is gone, reports come only when another one has done the work again.
FETCH_TIMEOUT_S = 20.0
CANCEL_TIMEOUT_S = 2.0

Report = Future[list[Finished]]


@contextmanager
def _connected() -> Iterator[None]:
    """Report clearly that the scheduler is gone; Dask's connections then raise an OSError without a number."""
    try:
        yield
    except OSError as error:
        if error.errno is not None:
            raise
        raise ClusterError(LOST) from None


class Execution:
    """One pass through a schedule.

    Parameters
    ----------
    record
        Stores the reports of finished tasks.
    check_workers
        Checks workers that connect.
    inputs
        Returns the ledger's digests of what a task reads, as far as it is finished; without it nothing is checked.
    """

    def __init__(
        self,
        cluster: Cluster,
        schedule: Schedule,
        store: RunStore,
        record: Callable[[list[Finished]], None],
        check_workers: Callable[[Collection[str]], None],
        interrupt: Interrupt,
        fail_fast: bool,
        say: Callable[[str], None],
        inputs: Callable[[Task], tuple[Total, ...]] | None = None,
    ) -> None:
        self._client: Client = cluster.client
        self._id = uuid4().hex[:8]
        """Tells this pass from all others that the same workers see."""
        self._pool = WorkerPool(cluster, check_workers, say)
        self._schedule, self._store, self._record = schedule, store, record
        self._interrupt, self._fail_fast = interrupt, fail_fast
        self._inputs = inputs
        self._running: dict[str, TaskBatch] = {}
        self._sent: dict[str, Report] = {}
        """What the scheduler has of this pass, by key."""
        self._futures: dict[str, Report] = {}
        """The future of each unfinished task that the scheduler has, by the name of the task."""
        self._arrived: SimpleQueue[Report] = SimpleQueue()
        self._retries = Retries(store.root)
        self._suspect_keys: set[str] = set()
        self._last_chance_key = ""
        self._trouble: Exception | None = None
        self._stopped = False

    @_connected()
    def run(self) -> None:
        """Run all tasks that can run; raise what stopped the run, after the tasks in flight have ended.

        Whatever ends it, the scheduler, which may keep running, is left without a task of this pass.
        """
        try:
            self._loop()
        finally:
            self._cancel()

    def _loop(self) -> None:
        while True:
            self._pool.refresh()
            if self._interrupt.requested or self._trouble:
                self._stop()
            elif self._pool.known:
                self._submit()
            if not self._running and (self._stopped or (self._pool.known and not self._retries)):
                break
            try:
                arrived = [self._arrived.get(timeout=POLL_INTERVAL_S)]
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
                    lambda: self._client.cancel(left, force=True, asynchronous=True), callback_timeout=CANCEL_TIMEOUT_S
                )

    def _submit(self) -> None:
        """Fill the window: batches that can run first, then those that wait for others."""
        if self._last_chance_key in self._running:
            return  # it runs with nothing beside it, so that it is to blame if its worker dies
        if self._retries.last_chances:
            if not self._running:
                (self._last_chance_key,) = self._send([self._retries.last_chances.popleft()])
            return
        capacity = self._pool.capacity
        self._suspect_keys &= self._running.keys()
        self._suspect_keys.update(self._send(self._retries.take_suspects(capacity, len(self._suspect_keys))))
        self._send(self._retries.take_due())
        waiting = sum(map(self._schedule.is_waiting, self._running.values()))
        can_run = len(self._running) - waiting
        batches: list[TaskBatch] = []
        while can_run + len(batches) < capacity * TASKS_PER_WORKER:
            batch = self._schedule.take(idle=can_run + len(batches) < capacity)
            if batch is None:
                break
            batches.append(batch)
        self._send(batches)
        self._send_ahead(capacity * AHEAD_PER_WORKER - waiting)

    def _send_ahead(self, room: int) -> None:
        """Send batches that wait for others, at most so many; those that wait for each other in separate messages."""
        batches: list[TaskBatch] = []
        sent = set(self._futures)
        while room > 0 and (batch := self._schedule.take_ahead(sent)) is not None:
            if not all(name in self._futures for name in self._schedule.unfinished_needs(batch)):
                self._send(batches)
                batches = []
            batches.append(batch)
            sent.update(task.name for task in batch)
            room -= 1
        self._send(batches)

    def _send(self, batches: list[TaskBatch]) -> list[str]:
        """Give batches to the scheduler, in one message; return their keys."""
        if not batches:
            return []
        keys = [self._key(batch) for batch in batches]
        self._running |= zip(keys, batches, strict=True)
        inputs = [[self._inputs(task) for task in batch] if self._inputs else [] for batch in batches]
        needs = [self._needed_futures(batch) for batch in batches]
        common: dict[str, Any] = {"store": self._store, "run": self._id, "code": fingerprint()}
        # Deaths of workers are counted here; a scheduler that is not ours has its own count, which comes first.
        futures = self._client.map(run_batch, batches, inputs, needs, **common, key=keys, pure=False)
        for future, batch in zip(futures, batches, strict=True):
            self._sent[str(future.key)] = future
            self._futures |= {task.name: future for task in batch}
            future.add_done_callback(self._arrived.put)
        return keys

    def _needed_futures(self, batch: TaskBatch) -> list[Report]:
        """Return the futures of the unfinished tasks that a batch needs."""
        found = (self._futures[name] for name in self._schedule.unfinished_needs(batch))
        return list({str(future.key): future for future in found}.values())

    def _key(self, batch: TaskBatch) -> str:
        name = batch_name(batch)
        # Up to the dash it is what the scheduler keeps a record of for good: one per stage, not one per task.
        return f"{batch[0].stage}-{self._retries.attempts[name] + 1}/{name}/{self._id}"

    def _stop(self) -> None:
        """Let workers finish what they do, and drop what only waits for them."""
        if not self._stopped:
            self._stopped = True
            self._pool.check = self._tell_to_stop  # workers that connect only now
            self._tell_to_stop(None)
        if not self._pool.present:
            self._running.clear()  # it waits for a worker that may never come, and has not begun
        # Of the batches that a worker has, one per thread runs; the others end when their turn comes.
        running = min(len(self._running), self._pool.capacity)
        if self._interrupt.requested and running and self._interrupt.count_down(running):
            self._running.clear()

    def _tell_to_stop(self, workers: Collection[str] | None) -> None:
        """Tell some workers, or all of them."""
        told = list(workers) if workers else None
        tell(partial(self._client.run, stop_taking, self._id, workers=told, on_error="ignore"))

    def _take_in(self, arrived: list[Report]) -> None:
        """Record what is done, all at once, and see to what is not."""
        done: list[Finished] = []
        try:
            fetched = self._fetch(arrived)
        except TimeoutError:  # the reports exist, so they are asked for again once the cluster answers
            late = [future for future in arrived if future.status == "finished"]
            for future in late:
                self._arrived.put(future)
            arrived, fetched = [future for future in arrived if future not in late], {}
        is_lost = False
        for future in arrived:
            key = str(future.key)
            batch = self._running.pop(key)
            self._sent.pop(key, None)
            for task in batch:
                self._futures.pop(task.name, None)
            if key not in fetched and future.status in ("lost", "pending"):  # its worker died with the report
                if self._schedule.is_waiting(batch):
                    self._schedule.put_back(batch)
                else:
                    self._retries.add(batch)
                future.release()
                continue
            try:
                found = fetched[key] if key in fetched else future.result(timeout=FETCH_TIMEOUT_S)
            except (CancelledError, CommClosedError):
                is_lost = True
            except Exception as error:
                done += self._failed(batch, key, error)
            else:
                done += found
                if found:
                    results = {entry.name: entry.result for entry in found} if batch[0].is_open_ended else {}
                    self._schedule.finish(batch, results)
            future.release()
        self._record(done)
        if is_lost:  # there is nobody to tell, or to wait for
            raise self._trouble or ClusterError(LOST)
        if self._fail_fast and (failures := [f"{entry.name}: {why}" for entry in done for why in entry.failures]):
            again = "The same command with --retry-failed goes on and tries it again"
            self._trouble = self._trouble or FailedError(f"stopped at the first failure, {failures[0]}. {again}")

    def _fetch(self, arrived: list[Report]) -> dict[str, list[Finished]]:
        """Return the reports of the batches that ended well, by key, in one message to the workers and back."""
        ended_well = [future for future in arrived if future.status == "finished"]
        try:
            reports = self._client.sync(
                lambda: self._client.gather(ended_well, asynchronous=True), callback_timeout=FETCH_TIMEOUT_S
            )
        except TimeoutError:
            raise
        except Exception as error:  # as when a worker dies with its report; each is then asked for on its own
            log.warning("%d reports cannot be fetched: %s: %s", len(ended_well), type(error).__name__, error)
            return {}
        return {str(future.key): report for future, report in zip(ended_well, reports, strict=True)}

    def _failed(self, batch: TaskBatch, key: str, error: Exception) -> list[Finished]:
        """Run a batch again, give it up, or stop the run; return the reports of tasks that are given up."""
        if self._schedule.is_dropped(batch):
            return []
        if self._schedule.is_waiting(batch):  # a task that it needs failed, and will be sent again
            self._schedule.put_back(batch)
            return []
        if isinstance(error, KilledWorker) and error.task != key:  # in Dask's second run of a task that it needs
            self._retries.add(batch)
            return []
        worker = error.last_worker.address if isinstance(error, KilledWorker) else ""
        decision = self._retries.decide(batch, error, self._pool.pauses.restarted.get(worker))
        if isinstance(decision, StopRun):
            self._trouble = self._trouble or decision.error
        if not isinstance(decision, GiveUp):
            return []
        self._schedule.fail(batch)
        return [
            Finished(task.name, task.identity, {}, {}, seconds=0.0, peak_memory=0, failed=f"failed: {decision.reason}")
            for task in batch
        ]
