"""Use the memory of all workers from a task that runs on one of them.

The task submits functions, whose results stay in the memory of the workers, as Dask's futures. If a worker dies, Dask
recomputes the results that it held; functions that it was running have to be submitted again.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import uuid4
from weakref import WeakSet

from distributed import CancelledError, Client, Future, KilledWorker, Lock, get_worker, wait, worker_client

from kernel_pipeline.cluster import PAUSED_AT
from kernel_pipeline.cluster.errors import ClusterError, LostWorkersError
from kernel_pipeline.cluster.versions import Plugins, fingerprint

CHECK_INTERVAL_S = 2.0
RETRY_INTERVAL_S = 0.5
LOCK = "kernel-pipeline-memory"
"""Name of the lock that a task holds while it uses the memory of all workers; tasks of several runs take turns."""

Result = Future[Any]
"""The result of a function, in the memory of a worker."""


class WorkerMemory:
    """The memory of all workers.

    Parameters
    ----------
    own_address
        Address of the worker that runs the task.
    versions, plugins
        Fingerprint of the installed versions, and the packages of plug-ins that are part of it.
    check
        Called while results are awaited; raises an error if the task is to stop.
    """

    def __init__(
        self, client: Client, own_address: str, versions: str, plugins: Plugins, check: Callable[[], None]
    ) -> None:
        self._client, self.own_address = client, own_address
        self._versions, self._plugins, self._check = versions, plugins, check
        self._results: WeakSet[Result] = WeakSet()

    def limits(self) -> dict[str, int]:
        """Return the bytes that a function may use on each worker, by address."""
        return usable_memory(self._client.scheduler_info(n_workers=-1)["workers"])

    def submit(
        self, function: Callable[..., Any], *arguments: Any, name: str = "", at: str = "", priority: int = 0
    ) -> Result:
        """Submit a function whose arguments are values, or results of functions that were submitted before.

        Parameters
        ----------
        name
            Name that Dask shows; by default the name of the function.
        at
            Address of the worker that should run it; another one does so if that worker is not alive.
        priority
            Functions with a higher priority run first.
        """
        # Dask keeps statistics of durations for the part of the key before the dash.
        found: Result = self._client.submit(
            call_checked,
            self._versions,
            self._plugins,
            function,
            *arguments,
            key=f"{name or function.__name__}-{uuid4().hex}",
            workers=[at] if at else None,
            allow_other_workers=bool(at),
            priority=priority,
        )
        self._results.add(found)
        return found

    def send(self, value: Any) -> Result:
        """Make a value available to all workers; it is copied to those that need it."""
        found: Result = self._client.scatter([value], hash=False)[0]
        self._results.add(found)
        return found

    def wait(self, results: Sequence[Result]) -> None:
        """Wait until all results are available.

        Raises
        ------
        LostWorkersError
            If a worker died while it was computing one of them, or one of their dependencies.
        """
        try:
            while True:
                try:
                    wait(list(results), timeout=CHECK_INTERVAL_S)
                    break
                except TimeoutError:
                    self._check()
            for result in results:
                if result.status == "error":
                    result.result()
        except KilledWorker as error:
            raise LostWorkersError(str(error)) from None
        except CancelledError as error:
            raise ConnectionError(f"the scheduler has cancelled functions of a task: {error}") from None

    def fetch(self, results: Sequence[Result]) -> list[Any]:
        """Wait for results, and return their values.

        Raises
        ------
        LostWorkersError
            As for `wait`.
        """
        self.wait(results)
        try:
            return list(self._client.gather(list(results)))
        except KilledWorker as error:
            raise LostWorkersError(str(error)) from None
        except CancelledError as error:
            raise ConnectionError(f"the scheduler has cancelled functions of a task: {error}") from None

    def wait_for(self, holds: Callable[[], bool], timeout: float) -> bool:
        """Wait until a condition holds or the time is up, and return whether the condition holds."""
        end = time.monotonic() + timeout
        while not (found := holds()) and time.monotonic() < end:
            time.sleep(RETRY_INTERVAL_S)
            self._check()
        return found

    def release(self) -> None:
        """Release all results, including those that an exception still refers to."""
        for result in list(self._results):
            result.release()


@contextmanager
def worker_memory(versions: str, plugins: Plugins, check: Callable[[], None]) -> Iterator[WorkerMemory]:
    """Provide the memory of all workers to a task for a `with` block; to be called on a worker.

    The parameters are those of `WorkerMemory`. Within the block, the worker can run other functions as well. The block
    starts once no other task uses the memory, including tasks of other runs and of drivers that have died.
    """
    own_address = get_worker().address
    with worker_client() as client:
        lock = Lock(LOCK)
        while not lock.acquire(timeout=CHECK_INTERVAL_S):
            check()
        memory = WorkerMemory(client, own_address, versions, plugins, check)
        try:
            yield memory
        finally:
            memory.release()
            lock.release()


def usable_memory(workers: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the share of one thread in the usable memory of each worker, in bytes, given the scheduler's information.

    >>> usable_memory({"tcp://a": {"memory_limit": 1000, "nthreads": 2, "status": "running"}, "tcp://b": {}})
    {'tcp://a': 400}
    """
    return {
        address: int(PAUSED_AT * info["memory_limit"]) // info["nthreads"]
        for address, info in workers.items()
        if info.get("status") == "running" and info.get("memory_limit")
    }


def call_checked(versions: str, plugins: Plugins, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function, after checking that this worker has the same versions as the driver."""
    check_fingerprint(versions, plugins)
    return function(*arguments)


def check_fingerprint(versions: str, plugins: Plugins) -> None:
    """Raise a `ClusterError` unless this process has the versions of the driver, whose fingerprint is given."""
    if fingerprint(plugins) != versions:
        raise ClusterError(
            "a worker has connected whose versions differ from those of the driver. Install the same versions for the "
            "workers, and run the same command again"
        )
