"""A local cluster whose start, and whose end, are bounded: processes that lack threads or memory may never answer."""

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
from kernel_pipeline.cluster.limits import starved, tight_limits

SECONDS_TO_START = 300.0
SECONDS_TO_START_WITHIN_LIMITS = 25.0
SECONDS_TO_CLOSE = 15.0


class PrivateCluster(LocalCluster):
    """Its client is in the process of its scheduler, and needs no connection that would have to be encrypted."""

    def __init__(self, **options: Any) -> None:
        self._patience = SECONDS_TO_START_WITHIN_LIMITS if tight_limits() else SECONDS_TO_START
        try:
            super().__init__(**options)  # type: ignore[no-untyped-call]
            assert self.scheduler is not None
            self.sync(self.scheduler.listen, "inproc://")
        except (RuntimeError, OSError, MemoryError) as error:  # that nothing answers in time is an OSError, too
            _kill_workers()
            self.status = Status.closed  # nothing is left that would answer a request to close
            raise _refusal(error) from error
        finally:
            self._patience = SECONDS_TO_CLOSE

    @property
    def scheduler_address(self) -> str:
        """Where the client connects."""
        assert self.scheduler is not None
        return str(self.scheduler.listeners[-1].contact_address)

    def sync(self, func: Any, *args: Any, callback_timeout: Any = None, **options: Any) -> Any:
        """Run something in the event loop, and wait for it as long as is reasonable."""
        patience = callback_timeout or self._patience
        return super().sync(func, *args, callback_timeout=patience, **options)  # type: ignore[no-untyped-call]

    def stop_at_once(self) -> None:
        """End the workers, whatever they do; they ignore Ctrl-C and SIGTERM."""
        for nanny in list(self.workers.values()):
            nanny.close_gracefully()  # so that it starts no other worker
        _kill_workers()


def _kill_workers() -> None:
    """End all worker processes of this one, also those that did not come to be known."""
    server = getattr(forkserver, "_forkserver", None)
    pids = {child.pid for child in multiprocessing.active_children()}
    with suppress(psutil.Error):
        pids |= {child.pid for child in psutil.Process((server and server._forkserver_pid) or 0).children()}
    for pid in filter(None, pids):
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)


def _refusal(error: BaseException) -> ClusterError:
    names = ", ".join(tight_limits()) or starved(error)
    if names:
        return LimitError(
            f"the workers cannot be started ({error}): they meet a limit of this system. Limits are: {names}. Raise "
            "it, or ask for fewer workers (--workers 1)"
        )
    return ClusterError(f"the workers cannot be started: {error}. The same command goes on from here")
