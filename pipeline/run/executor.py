"""Run a schedule on a cluster.

Tasks are submitted to Dask together with the futures of the tasks that they need, so that Dask sees the edges of the
graph. Only a window of the graph is known to the scheduler at a time.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial

from distributed import CancelledError, Client, KilledWorker
from distributed.comm.core import CommClosedError

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.versions import Plugins
from kernel_pipeline.errors import FailedError
from kernel_pipeline.events import RunningBatch
from kernel_pipeline.plan.follow_ups import open_ended_results
from kernel_pipeline.run.background_calls import call_in_background
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.retries import GiveUp, Retries, StopRun, batch_name
from kernel_pipeline.run.running_tasks import RunningTasks
from kernel_pipeline.run.schedule import Schedule, TaskBatch
from kernel_pipeline.run.sent_batches import ReportsFuture, SentBatches
from kernel_pipeline.run.worker import stop_starting_tasks
from kernel_pipeline.run.worker_pool import LOST, WorkerPool
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Total
from kernel_pipeline.store.reports import TaskReport

BATCHES_PER_THREAD = 3
"""Number of runnable batches at the scheduler per thread of a worker; the queue hides the latency of the driver."""
AHEAD_PER_THREAD = 3
"""Number of batches per thread of a worker that are sent before the tasks that they need are finished."""


@contextmanager
def _connected() -> Iterator[None]:
    """Raise a `ClusterError` if the scheduler is lost; Dask then raises an `OSError` without an error number."""
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
    notify
        Shows a message to the user.
    inputs
        Returns the digests of the finished inputs of a task from the ledger. If it is None, inputs are not checked.
    report_running
        Receives the batches that workers are running, every few seconds.
    """

    def __init__(
        self,
        cluster: Cluster,
        schedule: Schedule,
        store: RunStore,
        record: Callable[[list[TaskReport]], None],
        check_workers: Callable[[Collection[str]], None],
        interrupt: Interrupt,
        fail_fast: bool,
        notify: Callable[[str], None],
        inputs: Callable[[Task], tuple[Total, ...]] | None = None,
        plugins: Plugins = (),
        report_running: Callable[[tuple[RunningBatch, ...]], None] | None = None,
    ) -> None:
        self._client: Client = cluster.client
        self._pool = WorkerPool(cluster, check_workers, notify)
        self._sent = SentBatches(cluster.client, store, inputs, plugins)
        self._running_tasks = RunningTasks(cluster.client, self._sent.id, report_running)
        self._schedule, self._record = schedule, record
        self._interrupt, self._fail_fast = interrupt, fail_fast
        self._retries = Retries(store.root)
        self._suspect_keys: set[str] = set()
        self._alone_key = ""
        """Key of the batch that runs alone, or that did so last."""
        self._spread: deque[TaskBatch] = deque()
        """Batches that use the memory of all workers; each waits until no other batch is running or can run."""
        self._error: Exception | None = None
        """The error that stops the run, once there is one."""
        self._is_stopping = False

    @_connected()
    def run(self) -> None:
        """Run all tasks that can run. An error that stops the run is raised after the running tasks have ended.

        The scheduler may outlive this execution, so all tasks that have not ended are cancelled in any case.
        """
        try:
            self._loop()
        finally:
            self._sent.cancel()

    def _loop(self) -> None:
        while True:
            self._pool.refresh()
            if self._interrupt.requested or self._error:
                self._stop()
            elif self._pool.known:
                self._submit()
            if not self._sent.running and (self._is_stopping or self._is_done()):
                break
            if ended := self._sent.wait():
                self._process(ended)
            self._running_tasks.update(self._sent.running.values())
        if self._error:
            raise self._error

    def _is_done(self) -> bool:
        """Return whether nothing is left to send, given that nothing is running."""
        return bool(self._pool.known) and not self._retries.has_delayed and not self._spread

    def _submit(self) -> None:
        """Fill the window: batches that can run first, then those that wait for others."""
        running = self._sent.running
        if self._alone_key in running:
            return  # a last attempt runs alone, so that it is known to be the cause if its worker dies
        if self._retries.last_attempts:
            if not running:
                self._send_alone(self._retries.last_attempts.popleft())
            return
        capacity = self._pool.capacity
        self._suspect_keys &= running.keys()
        suspects = self._retries.take_suspects(capacity, len(self._suspect_keys))
        self._suspect_keys.update(self._send(self._set_aside(suspects)))
        self._send(self._set_aside(self._retries.take_due()))
        waiting = sum(map(self._schedule.is_waiting, running.values()))
        can_run = len(running) - waiting
        batches: list[TaskBatch] = []
        while can_run + len(batches) < capacity * BATCHES_PER_THREAD:
            batch = self._schedule.take(idle=can_run + len(batches) < capacity)
            if batch is None:
                break
            batches += self._set_aside([batch])
        self._send(batches)
        self._send_ahead(capacity * AHEAD_PER_THREAD - waiting)
        if self._spread and not running and self._pool.limits is not None:
            self._send_alone(self._spread.popleft())

    def _set_aside(self, batches: list[TaskBatch]) -> list[TaskBatch]:
        """Set aside batches that can use, or may be able to use, the memory of all workers; return the others."""
        aside = [batch for batch in batches if batch[0].may_spread and self._can_spread(batch) is not False]
        self._spread += aside
        return [batch for batch in batches if batch not in aside]

    def _can_spread(self, batch: TaskBatch) -> bool | None:
        """Return whether a batch can use the memory of all workers; None if their memory is not known yet."""
        limits = self._pool.limits
        return None if limits is None else batch[0].may_spread and batch[0].can_spread(limits)

    def _send_alone(self, batch: TaskBatch) -> None:
        """Send a batch that runs alone; it uses the memory of all workers if it can."""
        (self._alone_key,) = self._send([batch], spread=self._can_spread(batch) is True)

    def _send_ahead(self, limit: int) -> None:
        """Send up to `limit` batches that wait for others, each in a later message than those that it waits for."""
        batches: list[TaskBatch] = []
        sent = self._sent.tasks  # includes, from here on, the tasks that are about to be sent
        while limit > 0 and (batch := self._schedule.take_ahead(sent)) is not None:
            if not self._sent.has_tasks(self._schedule.unfinished_dependencies(batch)):
                self._send(batches)
                batches = []
            batches.append(batch)
            sent.update(task.name for task in batch)
            limit -= 1
        self._send(batches)

    def _send(self, batches: list[TaskBatch], spread: bool = False) -> list[str]:
        """Send batches to the scheduler, and return their keys."""
        by_key = {self._key(batch): batch for batch in batches}
        if by_key:
            self._sent.send(by_key, [self._schedule.unfinished_dependencies(batch) for batch in batches], spread)
        return list(by_key)

    def _key(self, batch: TaskBatch) -> str:
        """Return the key of a batch.

        The scheduler keeps statistics for the part before the dash permanently, so this part is only the stage.
        """
        name = batch_name(batch)
        return f"{batch[0].stage}-{self._retries.attempts[name] + 1}/{name}/{self._sent.id}"

    def _stop(self) -> None:
        """Let workers finish the tasks that they run, and drop all others."""
        if not self._is_stopping:
            self._is_stopping = True
            self._pool.check = self._stop_workers  # for workers that connect from now on
            self._stop_workers(None)
        running = self._sent.running
        if not self._pool.present:
            running.clear()  # without a worker, none of them has started
        # Each thread of a worker runs one batch; the others return immediately when they are started.
        count = min(len(running), self._pool.capacity)
        if self._interrupt.requested and count and self._interrupt.count_down(count):
            running.clear()

    def _stop_workers(self, workers: Collection[str] | None) -> None:
        """Ask some workers, or all of them, to start no more tasks of this execution."""
        chosen = list(workers) if workers else None
        call_in_background(
            partial(self._client.run, stop_starting_tasks, self._sent.id, workers=chosen, on_error="ignore")
        )

    def _process(self, ended: list[ReportsFuture]) -> None:
        """Record, in one step, the reports of all batches that have ended, and handle the batches that failed."""
        done: list[TaskReport] = []
        is_lost = False
        ended, fetched = self._sent.fetch(ended)
        for future in ended:
            key, batch = str(future.key), self._sent.remove(future)
            if key not in fetched and future.status in ("lost", "pending"):
                # The worker died before the reports were fetched.
                self._run_again(batch)
                future.release()
                continue
            try:
                found = fetched[key] if key in fetched else self._sent.fetch_one(future)
            except (CancelledError, CommClosedError):
                is_lost = True
            except Exception as error:
                done += self._handle_failure(batch, key, error)
            else:
                done += found
                if found:
                    results = open_ended_results(batch, {report.task: report for report in found})
                    self._schedule.finish(batch, results)
            future.release()
        self._record(done)
        if is_lost:
            raise self._error or ClusterError(LOST)
        if self._fail_fast and (failures := [f"{report.task}: {why}" for report in done for why in report.failures]):
            self._error = self._error or FailedError(
                f"stopped at the first failure, {failures[0]}. The same command with --retry-failed resumes the run "
                "and retries the task"
            )

    def _run_again(self, batch: TaskBatch) -> None:
        """Run a batch again, once the tasks that it needs are finished."""
        if self._schedule.is_waiting(batch):
            self._schedule.put_back(batch)
        else:
            self._retries.add(batch)

    def _handle_failure(self, batch: TaskBatch, key: str, error: Exception) -> list[TaskReport]:
        """Retry a batch, mark it as failed, or stop the run; return the reports of tasks that are marked as failed."""
        if self._schedule.is_dropped(batch):
            return []
        # The error may be that of a task that the batch needs, which Dask may have run a second time.
        is_foreign = isinstance(error, KilledWorker) and error.task != key
        if self._schedule.is_waiting(batch) or is_foreign:
            self._run_again(batch)
            return []
        worker = error.last_worker.address if isinstance(error, KilledWorker) else ""
        decision = self._retries.decide(batch, error, self._pool.pauses.restarted.get(worker))
        if isinstance(decision, StopRun):
            self._error = self._error or decision.error
        if not isinstance(decision, GiveUp):
            return []
        self._schedule.fail(batch)
        return [
            TaskReport(task=task.name, identity=task.identity, failed=f"failed: {decision.reason}") for task in batch
        ]
