"""Track workers that Dask has paused because they use most of their memory: report them, and restart them if needed.

A paused worker finishes the task that it runs and starts no other, so a run would stall if all its workers were paused.
A worker that recovers within a few seconds is left alone. The tasks of a worker that is restarted are retried like
those of any worker that dies; a task that needs more memory than a worker has, even when it runs alone, is marked as
failed.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.run.background_calls import call_in_background
from kernel_pipeline.run.worker import end_process
from kernel_pipeline.text import format_bytes

log = logging.getLogger("kernel_pipeline")

REPORT_AFTER_S = 3.0
RESTART_IDLE_AFTER_S = 10.0
"""Delay before a paused worker without a task is restarted: nothing will free its memory."""
RESTART_BUSY_AFTER_S = 20.0
"""Delay before a paused worker with a task is restarted: the end of the task may free memory."""
ALL_PAUSED_TIMEOUT_S = 60.0
"""Time after which a run stops if all workers are paused and the driver cannot restart them."""

WorkerInfo = Mapping[str, Any]
"""What Dask's scheduler reports about a worker."""


@dataclass
class Pause:
    """The pause of one worker."""

    since: float
    is_reported: bool = False
    next_restart: float = 0.0


class Pauses:
    """The paused workers of a cluster.

    Parameters
    ----------
    notify
        Shows a message to the user.
    """

    def __init__(self, cluster: Cluster, notify: Callable[[str], None]) -> None:
        self._cluster, self._notify = cluster, notify
        self._paused: dict[str, Pause] = {}
        self._all_paused_since: float | None = None
        self.restarted: dict[str, str] = {}
        """Memory use of each worker that was restarted, as text, by address."""

    def refresh(self, workers: Mapping[str, WorkerInfo]) -> None:
        """Report and restart paused workers.

        Parameters
        ----------
        workers
            The state of all workers by address.

        Raises
        ------
        ClusterError
            If all workers have been paused for too long and cannot be restarted.
        """
        now = time.monotonic()
        paused = {address: info for address, info in workers.items() if info.get("status") == "paused"}
        for address in self._paused.keys() - paused.keys():
            if self._paused.pop(address).is_reported and address in workers:
                self._notify(f"worker {workers[address]['name']} is running again")
        for address, info in paused.items():
            pause = self._paused.setdefault(address, Pause(now))
            if not pause.is_reported and now - pause.since >= REPORT_AFTER_S:
                pause.is_reported = True
                self._notify(
                    f"worker {info['name']} is paused: it uses {memory_use(info)}, and starts no task until it uses "
                    "less memory"
                )
            if self._may_restart(info) and now >= max(pause.next_restart, pause.since + _restart_delay(info)):
                pause.next_restart = now + RESTART_IDLE_AFTER_S
                self._restart(address, info)
        self._check_all_paused(now, workers, paused)

    def _may_restart(self, info: WorkerInfo) -> bool:
        """Return whether a worker belongs to this run and has a nanny, which starts it again."""
        return bool(info.get("nanny")) and not self._cluster.is_external

    def _restart(self, address: str, info: WorkerInfo) -> None:
        self.restarted[address] = memory_use(info)
        self._notify(f"worker {info['name']} still uses {memory_use(info)}; it is restarted, and its tasks are retried")
        log.warning("restart of the paused worker %s, which uses %s", address, memory_use(info))
        call_in_background(partial(self._cluster.client.run, end_process, workers=[address], on_error="ignore"))

    def _check_all_paused(
        self, now: float, workers: Mapping[str, WorkerInfo], paused: Mapping[str, WorkerInfo]
    ) -> None:
        """Stop the run if all workers have been paused for too long and none can be restarted."""
        if not paused or len(paused) < len(workers) or any(map(self._may_restart, paused.values())):
            self._all_paused_since = None
            return
        self._all_paused_since = self._all_paused_since or now
        if now - self._all_paused_since > ALL_PAUSED_TIMEOUT_S:
            first = next(iter(paused.values()))
            raise ClusterError(
                f"all workers ({len(paused)}) have been paused for {ALL_PAUSED_TIMEOUT_S:.0f} s, since they need more "
                f"memory than they have: {first['name']} uses {memory_use(first)}. Restart them with more memory, or "
                "start fewer of them per host; the same command resumes the run"
            )


def _restart_delay(info: WorkerInfo) -> float:
    """Return how long a worker may stay paused before it is restarted."""
    executing = info["metrics"].get("task_counts", {}).get("executing", 0)
    return RESTART_BUSY_AFTER_S if executing else RESTART_IDLE_AFTER_S


def memory_use(info: WorkerInfo) -> str:
    """Describe the memory use of a worker, such as '1.7 GiB of its 2 GiB'."""
    return f"{format_bytes(info['metrics']['memory'])} of its {format_bytes(info['memory_limit'])}"
