"""Start and stop a local cluster with timeouts, since processes that lack threads or memory may never answer."""

import multiprocessing
import os
import signal
from contextlib import suppress
from multiprocessing import forkserver
from typing import Any

import psutil
from distributed import LocalCluster
from distributed.core import Status

from kernel_pipeline.cluster.errors import ClusterError, LimitError
from kernel_pipeline.cluster.limits import suspected_limits, tight_limits

START_TIMEOUT_S = 300.0
LIMITED_START_TIMEOUT_S = 25.0
CLOSE_TIMEOUT_S = 15.0


class PrivateCluster(LocalCluster):
    """A local cluster with timeouts, whose client connects to the scheduler within one process, without encryption."""

    def __init__(self, **options: Any) -> None:
        self._timeout = LIMITED_START_TIMEOUT_S if tight_limits() else START_TIMEOUT_S
        self._others = _children()
        try:
            super().__init__(**options)  # type: ignore[no-untyped-call]
            assert self.scheduler is not None
            self.sync(self.scheduler.listen, "inproc://")
        except (RuntimeError, OSError, MemoryError) as error:  # a timeout is an OSError too
            self._kill_workers()
            self.status = Status.closed  # no process is left that could answer a request to close
            raise _start_error(error) from error
        finally:
            self._timeout = CLOSE_TIMEOUT_S

    @property
    def scheduler_address(self) -> str:
        """Return the address to which the client connects."""
        assert self.scheduler is not None
        return str(self.scheduler.listeners[-1].contact_address)

    def sync(self, func: Any, *args: Any, callback_timeout: Any = None, **options: Any) -> Any:
        """Run a function in the event loop, and wait for it with a timeout."""
        timeout = callback_timeout or self._timeout
        return super().sync(func, *args, callback_timeout=timeout, **options)  # type: ignore[no-untyped-call]

    def stop_at_once(self) -> None:
        """Kill the workers, even while they run tasks; they ignore Ctrl-C and SIGTERM."""
        for nanny in list(self.workers.values()):
            nanny.close_gracefully()  # so that it does not restart the worker
        self._kill_workers()

    def _kill_workers(self) -> None:
        """Kill all workers, including those that were never connected, but no processes that the user had started."""
        for pid in _children() - self._others:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _children() -> set[int]:
    """Return the processes that multiprocessing has started here, directly or through its fork server."""
    server = getattr(forkserver, "_forkserver", None)
    pids = {child.pid for child in multiprocessing.active_children() if child.pid}
    with suppress(psutil.Error):
        pids |= {child.pid for child in psutil.Process((server and server._forkserver_pid) or 0).children()}
    return pids


def _start_error(error: BaseException) -> ClusterError:
    names = ", ".join(tight_limits()) or suspected_limits(error)
    if names:
        return LimitError(
            f"the workers cannot be started ({error}): they exceed a limit of this system. The limits are: {names}. "
            "Raise the limit, or use fewer workers (--workers 1)"
        )
    return ClusterError(f"the workers cannot be started: {error}. Run the same command again to resume")
