"""Track the batches of tasks that Dask's scheduler has: send them, fetch their reports, and cancel them."""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from distributed import Client, Future

from kernel_pipeline.cluster.versions import Plugins, fingerprint
from kernel_pipeline.run.schedule import TaskBatch
from kernel_pipeline.run.worker import run_batch
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.inputs import Total
from kernel_pipeline.store.reports import TaskReport

log = logging.getLogger("kernel_pipeline")

POLL_INTERVAL_S = 0.2
FETCH_TIMEOUT_S = 20.0
"""Time limit for fetching reports: if a worker has left, Dask has to run its tasks again first."""
CANCEL_TIMEOUT_S = 2.0

ReportsFuture = Future[list[TaskReport]]
"""The future of the reports of a batch."""


class SentBatches:
    """The batches of one execution that the scheduler has.

    Parameters
    ----------
    inputs
        Returns the digests of the finished inputs of a task from the ledger. If it is None, inputs are not checked.
    plugins
        Packages of plug-ins whose versions workers have to share.
    """

    def __init__(
        self,
        client: Client,
        store: RunStore,
        inputs: Callable[[Task], tuple[Total, ...]] | None = None,
        plugins: Plugins = (),
    ) -> None:
        self._client, self._inputs = client, inputs
        self.id = uuid4().hex[:8]
        """Identifier of this execution, unique among all executions on the same workers."""
        self._common: dict[str, Any] = {
            "store": store,
            "execution": self.id,
            "versions": fingerprint(plugins),
            "plugins": plugins,
        }
        self.running: dict[str, TaskBatch] = {}
        """The batches whose reports are expected, by key."""
        self._futures: dict[str, ReportsFuture] = {}
        """The futures of batches that the scheduler has, by key."""
        self._task_futures: dict[str, ReportsFuture] = {}
        """The future of each unfinished task, by its name."""
        self._ended: SimpleQueue[ReportsFuture] = SimpleQueue()

    @property
    def tasks(self) -> set[str]:
        """The names of all unfinished tasks that the scheduler has."""
        return set(self._task_futures)

    def has_tasks(self, names: Iterable[str]) -> bool:
        """Return whether the scheduler has all of these tasks."""
        return all(name in self._task_futures for name in names)

    def send(self, batches: dict[str, TaskBatch], needs: Sequence[Sequence[str]], spread: bool = False) -> None:
        """Send batches to the scheduler, in one message.

        Parameters
        ----------
        batches
            The batches by key.
        needs
            For each batch, the names of the unfinished tasks that it needs, all of which have been sent.
        spread
            Whether the batch uses the memory of all workers; it is then the only one.
        """
        self.running |= batches
        inputs = [[self._inputs(task) for task in batch] if self._inputs else [] for batch in batches.values()]
        needed = [self._futures_of(names) for names in needs]
        # Dask's `retries` is not used, since the driver retries batches itself. An external scheduler also repeats the
        # tasks of dead workers, up to a limit of its own.
        futures = self._client.map(
            run_batch,
            list(batches.values()),
            inputs,
            needed,
            **self._common,
            spread=spread,
            key=list(batches),
            pure=False,
        )
        for future, batch in zip(futures, batches.values(), strict=True):
            self._futures[str(future.key)] = future
            self._task_futures |= {task.name: future for task in batch}
            future.add_done_callback(self._ended.put)

    def _futures_of(self, names: Sequence[str]) -> list[ReportsFuture]:
        """Return the futures of unfinished tasks; tasks of one batch share a future."""
        found = (self._task_futures[name] for name in names)
        return list({str(future.key): future for future in found}.values())

    def wait(self) -> list[ReportsFuture]:
        """Return the batches that have ended, after a short wait for the first one."""
        try:
            ended = [self._ended.get(timeout=POLL_INTERVAL_S)]
        except Empty:
            return []
        while not self._ended.empty():
            ended.append(self._ended.get())
        return ended

    def fetch(self, ended: list[ReportsFuture]) -> tuple[list[ReportsFuture], dict[str, list[TaskReport]]]:
        """Fetch the reports of the batches that succeeded, in one message.

        Returns
        -------
        ended
            The batches to process now. Those whose reports do not arrive in time are returned by `wait` again.
        reports
            The reports by key; empty if they cannot be fetched together, so that each has to be fetched separately.
        """
        succeeded = [future for future in ended if future.status == "finished"]
        try:
            reports = self._client.sync(
                lambda: self._client.gather(succeeded, asynchronous=True), callback_timeout=FETCH_TIMEOUT_S
            )
        except TimeoutError:
            late = [future for future in ended if future.status == "finished"]
            for future in late:
                self._ended.put(future)
            return [future for future in ended if future not in late], {}
        except Exception as error:  # such as the death of a worker before its reports were fetched
            log.warning("%d reports cannot be fetched: %s: %s", len(succeeded), type(error).__name__, error)
            return ended, {}
        return ended, {str(future.key): found for future, found in zip(succeeded, reports, strict=True)}

    def fetch_one(self, future: ReportsFuture) -> list[TaskReport]:
        """Fetch the reports of one batch; if it failed, raise its error."""
        return future.result(timeout=FETCH_TIMEOUT_S)

    def remove(self, future: ReportsFuture) -> TaskBatch:
        """Remove a batch that has ended, and return it."""
        key = str(future.key)
        batch = self.running.pop(key)
        self._futures.pop(key, None)
        for task in batch:
            self._task_futures.pop(task.name, None)
        return batch

    def cancel(self) -> None:
        """Cancel all batches that have not ended. Tasks that are running are stopped by the fence when they write."""
        left = list(self._futures.values())
        if left and self._client.status == "running":
            with suppress(Exception):  # an unresponsive scheduler forgets the tasks of a client that has left
                self._client.sync(
                    lambda: self._client.cancel(left, force=True, asynchronous=True), callback_timeout=CANCEL_TIMEOUT_S
                )
