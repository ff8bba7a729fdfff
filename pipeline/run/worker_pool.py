"""Track connected workers: check new ones, replace lost ones."""

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.worker_memory import usable_memory
from kernel_pipeline.run.background_calls import BackgroundCall
from kernel_pipeline.run.pauses import Pauses

log = logging.getLogger("kernel_pipeline")

REFRESH_INTERVAL_S = 1.0
MEMORY_INTERVAL_S = 2.0
"""Minimum time between two checks for paused workers."""
ANSWER_TIMEOUT_S = 0.5
"""Time to wait for an answer of the scheduler; a later answer is used by the next refresh."""
FROZEN_AFTER_S = 30.0
"""Time without an answer after which the user is told that the scheduler is frozen or overloaded."""
FROZEN_INTERVAL_S = 60.0
REPLACE_AFTER_S = 10.0
"""Time with fewer workers than requested after which lost ones are replaced."""
NO_WORKERS_TIMEOUT_S = 60.0
"""Time without workers after which a run stops, on clusters whose workers connect immediately."""
REMIND_AFTER_S = 30.0
"""Time without workers after which the user is told why there are none, on other clusters."""
REMIND_INTERVAL_S = 600.0
LOST = "the connection to the scheduler was lost. The same command resumes the run"


class WorkerPool:
    """The workers of a cluster, as they connect and leave.

    Parameters
    ----------
    check
        Checks workers that are new.
    notify
        Shows a message to the user.
    """

    def __init__(
        self, cluster: Cluster, check: Callable[[Collection[str]], None], notify: Callable[[str], None]
    ) -> None:
        self._cluster, self._notify = cluster, notify
        self.check = check
        self.known: set[str] = set()
        """Addresses of all workers that passed the check."""
        self.present = 0
        """Number of workers that are connected now."""
        self.limits: dict[str, int] | None = None
        """Bytes that each worker may use, by address; None if they are not known yet."""
        self.pauses = Pauses(cluster, notify)
        self._threads_now = BackgroundCall(cluster.client.nthreads)
        self._workers_now: BackgroundCall[dict[str, Any]] = BackgroundCall(
            lambda: cluster.client.scheduler_info(n_workers=-1)
        )
        self._pauses_checked = time.monotonic()
        self._next_frozen = FROZEN_AFTER_S
        self._threads = 0
        self._refreshed = self._reminded = float("-inf")
        # The times at which all workers, and at least one worker, were last connected.
        self._all_seen = self._some_seen = time.monotonic()

    @property
    def capacity(self) -> int:
        """Number of tasks that can run concurrently; an external scheduler may gain workers."""
        return max(self._cluster.max_workers, self._threads)

    def refresh(self) -> None:
        """Update the state of the workers, at most once per `REFRESH_INTERVAL_S`."""
        if time.monotonic() - self._refreshed < REFRESH_INTERVAL_S:
            return
        if self._cluster.client.status not in ("running", "connecting"):
            raise ClusterError(LOST)
        threads: dict[str, int] | None = self._threads_now.result(ANSWER_TIMEOUT_S)
        if threads is None:
            self._report_frozen()
            return
        self._next_frozen = FROZEN_AFTER_S
        self._refreshed = now = time.monotonic()
        self.present, self._threads = len(threads), sum(threads.values())
        if new := threads.keys() - self.known:
            self.check(new)
            self.known |= new
        if self.present >= self._cluster.max_workers:
            self._all_seen = now
        elif now - self._all_seen > REPLACE_AFTER_S:
            self._all_seen = now
            self._replace_lost()
        if now - self._pauses_checked >= MEMORY_INTERVAL_S and (info := self._workers_now.result(ANSWER_TIMEOUT_S)):
            self._pauses_checked = now
            self.limits = usable_memory(info["workers"])
            self.pauses.refresh(info["workers"])
        if self.present:
            self._some_seen = now
        elif self._cluster.pending_reason is None:
            self._check_timeout(now)
        else:
            self._remind(now, self._cluster.pending_reason)

    def _report_frozen(self) -> None:
        """Report periodically that the scheduler does not answer."""
        if (passed := self._threads_now.pending_seconds) > self._next_frozen:
            self._next_frozen = passed + FROZEN_INTERVAL_S
            self._notify(
                f"the scheduler has not answered for {passed:.0f} s: its process is stopped or overloaded, or the "
                "network is down. The run waits for the scheduler. "
                "Ctrl-C stops the run, and the same command resumes it"
            )

    def _replace_lost(self) -> None:
        try:
            self._cluster.replace_lost()
        except ClusterError:
            raise
        except Exception as error:  # a gateway or an operator may answer the next time
            log.warning("cannot ask for workers: %s: %s", type(error).__name__, error)

    def _check_timeout(self, now: float) -> None:
        """Stop if there has been no worker for too long, on clusters whose workers connect immediately."""
        if now - self._some_seen > NO_WORKERS_TIMEOUT_S:
            raise ClusterError(
                f"there has been no worker for {NO_WORKERS_TIMEOUT_S:.0f} s; see the files in logs/. The same command "
                "resumes the run"
            )

    def _remind(self, now: float, pending_reason: Callable[[], str]) -> None:
        """Report periodically why there are no workers."""
        passed, is_first = now - self._some_seen, self._reminded < self._some_seen
        if passed > REMIND_AFTER_S and (is_first or now - self._reminded > REMIND_INTERVAL_S):
            self._reminded = now
            self._notify(f"no worker for {passed:.0f} s: {pending_reason()}")
