"""Who is there to work: those who come are welcomed, those who are missing are asked for again."""

import logging
import time
from collections.abc import Callable, Collection
from typing import Any

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.run.pauses import Pauses
from kernel_pipeline.run.question import Question

log = logging.getLogger("kernel_pipeline")

SECONDS_BETWEEN_COUNTS = 1.0
SECONDS_BETWEEN_LOOKS_AT_MEMORY = 2.0
SECONDS_TO_ANSWER = 0.5
# A scheduler that does not answer for so long is frozen, or overloaded beyond use.
SECONDS_BEFORE_FROZEN = 30.0
SECONDS_BETWEEN_FROZEN = 60.0
SECONDS_BEFORE_MENDING = 10.0
SECONDS_WITHOUT_WORKERS = 60.0
SECONDS_BEFORE_REMINDER = 30.0
SECONDS_BETWEEN_REMINDERS = 600.0
LOST = "the connection to the scheduler was lost. The same command goes on from here"


class Attendance:
    """The workers of a cluster, as they come and go."""

    def __init__(
        self, cluster: Cluster, welcome: Callable[[Collection[str]], None], say: Callable[[str], None]
    ) -> None:
        self._cluster, self._say = cluster, say
        self.welcome = welcome
        """What is done with workers that are new."""
        self.known: set[str] = set()
        """Addresses of all workers that were ever welcomed."""
        self.present = 0
        self.pauses = Pauses(cluster, say)
        self._threads_now = Question(cluster.client.nthreads)
        self._workers_now: Question[dict[str, Any]] = Question(lambda: cluster.client.scheduler_info(n_workers=-1))
        self._looked = time.monotonic()
        self._next_frozen = SECONDS_BEFORE_FROZEN
        self._threads = 0
        self._counted = self._reminded = float("-inf")
        self._all_seen = self._some_seen = time.monotonic()

    @property
    def hands(self) -> int:
        """How many tasks can run at once; a scheduler that is not ours may have more workers than before."""
        return max(self._cluster.workers, self._threads)

    def count(self) -> None:
        """Look who is there, unless that was done just now."""
        if time.monotonic() - self._counted < SECONDS_BETWEEN_COUNTS:
            return
        if self._cluster.client.status not in ("running", "connecting"):
            raise ClusterError(LOST)
        threads: dict[str, int] | None = self._threads_now.answer(SECONDS_TO_ANSWER)
        if threads is None:
            self._report_frozen()
            return
        self._next_frozen = SECONDS_BEFORE_FROZEN
        self._counted = now = time.monotonic()
        self.present, self._threads = len(threads), sum(threads.values())
        if new := threads.keys() - self.known:
            self.welcome(new)
            self.known |= new
        if self.present >= self._cluster.workers:
            self._all_seen = now
        elif now - self._all_seen > SECONDS_BEFORE_MENDING:
            self._all_seen = now
            self._mend()
        if now - self._looked >= SECONDS_BETWEEN_LOOKS_AT_MEMORY and (
            info := self._workers_now.answer(SECONDS_TO_ANSWER)
        ):
            self._looked = now
            self.pauses.look(info["workers"])
        if self.present:
            self._some_seen = now
        elif self._cluster.pending_reason is None:
            self._give_up_at_last(now)
        else:
            self._remind(now, self._cluster.pending_reason)

    def _report_frozen(self) -> None:
        """Say now and then that the scheduler does not answer."""
        if (passed := self._threads_now.unanswered) > self._next_frozen:
            self._next_frozen = passed + SECONDS_BETWEEN_FROZEN
            self._say(
                f"the scheduler has not answered for {passed:.0f} s: its process is stopped or overloaded, or the "
                "network is gone. The run waits for it; Ctrl-C stops it, and the same command goes on from here"
            )

    def _mend(self) -> None:
        try:
            self._cluster.replace_lost()
        except ClusterError:
            raise
        except Exception as error:  # of a gateway or an operator that may answer the next time
            log.warning("cannot ask for workers: %s: %s", type(error).__name__, error)

    def _give_up_at_last(self, now: float) -> None:
        """Where workers should be there at once."""
        if now - self._some_seen > SECONDS_WITHOUT_WORKERS:
            raise ClusterError(
                f"there has been no worker for {SECONDS_WITHOUT_WORKERS:.0f} s; logs/ may say why. The same command "
                "goes on from here"
            )

    def _remind(self, now: float, pending_reason: Callable[[], str]) -> None:
        """Say now and then what a queue waits for."""
        passed, is_first = now - self._some_seen, self._reminded < self._some_seen
        if passed > SECONDS_BEFORE_REMINDER and (is_first or now - self._reminded > SECONDS_BETWEEN_REMINDERS):
            self._reminded = now
            self._say(f"no worker for {passed:.0f} s: {pending_reason()}")
