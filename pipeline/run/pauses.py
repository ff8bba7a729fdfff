"""Workers that Dask has paused, since they use most of their memory: reported, and restarted if they stay so.

A paused worker finishes the task that it runs and begins no other, so a run whose workers are all paused would stand
still. One that recovers by itself within moments is left alone. When a worker is restarted, its tasks are tried again
like those of any worker that dies; a task that takes its worker with it even when it runs alone is set aside.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.run.question import tell
from kernel_pipeline.run.worker import end_process
from kernel_pipeline.text import format_bytes

log = logging.getLogger("kernel_pipeline")

REPORT_AFTER_S = 3.0
RESTART_IDLE_AFTER_S = 10.0
"""Delay before a paused worker without a task is restarted: nothing will free its memory."""
RESTART_BUSY_AFTER_S = 20.0
"""Delay before a paused worker with a task is restarted: the end of the task may free memory."""
ALL_PAUSED_TIMEOUT_S = 60.0
"""Time after which a run stops if all workers are paused and cannot be restarted by the driver."""


@dataclass
class Pause:
    """The pause of one worker."""

    since: float
    is_reported: bool = False
    next_restart: float = 0.0


class Pauses:
    """The paused workers of a cluster."""

    def __init__(self, cluster: Cluster, say: Callable[[str], None]) -> None:
        self._cluster, self._say = cluster, say
        self._paused: dict[str, Pause] = {}
        self._all_paused_since: float | None = None
        self.restarted: dict[str, str] = {}
        """The memory that each worker used which was restarted, by address."""

    def look(self, workers: Mapping[str, dict[str, Any]]) -> None:
        """See which workers are paused, given what the scheduler says of all of them."""
        now = time.monotonic()
        paused = {address: info for address, info in workers.items() if info.get("status") == "paused"}
        for address in self._paused.keys() - paused.keys():
            if self._paused.pop(address).is_reported and address in workers:
                self._say(f"worker {workers[address]['name']} works again")
        for address, info in paused.items():
            pause = self._paused.setdefault(address, Pause(now))
            if not pause.is_reported and now - pause.since >= REPORT_AFTER_S:
                pause.is_reported = True
                self._say(
                    f"worker {info['name']} is paused: it uses {usage(info)}, and begins no task before it uses less"
                )
            if self._may_restart(info) and now >= max(pause.next_restart, pause.since + self._patience(info)):
                pause.next_restart = now + RESTART_IDLE_AFTER_S
                self._restart(address, info)
        self._give_up_at_last(now, workers, paused)

    def _may_restart(self, info: Mapping[str, Any]) -> bool:
        """Whether a worker is ours, and is started again by the process that watches over it."""
        return bool(info.get("nanny")) and not self._cluster.is_external

    def _patience(self, info: Mapping[str, Any]) -> float:
        executing = info["metrics"].get("task_counts", {}).get("executing", 0)
        return RESTART_BUSY_AFTER_S if executing else RESTART_IDLE_AFTER_S

    def _restart(self, address: str, info: Mapping[str, Any]) -> None:
        self.restarted[address] = usage(info)
        self._say(f"worker {info['name']} still uses {usage(info)}, and is restarted; its tasks are tried again")
        log.warning("restart of the paused worker %s, which uses %s", address, usage(info))
        run = self._cluster.client.run
        tell(partial(run, end_process, workers=[address], on_error="ignore"))

    def _give_up_at_last(
        self, now: float, workers: Mapping[str, dict[str, Any]], paused: Mapping[str, dict[str, Any]]
    ) -> None:
        """Stop the run where all workers are paused and none can be restarted."""
        if not paused or len(paused) < len(workers) or any(map(self._may_restart, paused.values())):
            self._all_paused_since = None
            return
        self._all_paused_since = self._all_paused_since or now
        if now - self._all_paused_since > ALL_PAUSED_TIMEOUT_S:
            first = next(iter(paused.values()))
            raise ClusterError(
                f"all {len(paused)} workers have been paused for {ALL_PAUSED_TIMEOUT_S:.0f} s, since they need more "
                f"memory than they have: {first['name']} uses {usage(first)}. Restart them, with more memory or fewer "
                "beside each other; the same command goes on from here"
            )


def usage(info: Mapping[str, Any]) -> str:
    """The memory of a worker for people, such as '1.7 GiB of its 2 GiB'."""
    return f"{format_bytes(info['metrics']['memory'])} of its {format_bytes(info['memory_limit'])}"
