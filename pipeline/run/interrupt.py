"""Handle Ctrl-C and the SIGTERM of a batch system: the first request stops a run cleanly, the second immediately.

The time for both is limited. After the first request, running tasks have `FINISH_TIMEOUT_S` to finish. The process of a
command ends if the cluster is not closed `CLOSE_TIMEOUT_S` after that time; all finished tasks are in the ledger by
then. The process of a program that uses the library is never ended.
"""

import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

from kernel_pipeline.text import counted

SAME_REQUEST_S = 1.0
"""Time within which another SIGTERM is part of the same request: batch systems may signal a process and its parent."""
FINISH_TIMEOUT_S = 30.0
"""Time for running tasks to finish after the first request."""
COUNT_INTERVAL_S = 10.0
CLOSE_TIMEOUT_S = 15.0
"""Time for closing the cluster after `FINISH_TIMEOUT_S` has passed."""
STOP_TIMEOUT_S = 4.5
"""Time after the second request until the process is ended."""


class Interrupt:
    """Context manager that handles signals and records whether the run was asked to stop.

    Signals can be handled in the main thread only. In other threads, no handler is installed.

    Parameters
    ----------
    notify
        Shows a message to the user. It is called in the signal handler, since the run itself may be waiting.
    end_process
        Ends the process, which belongs to a command, if it does not stop in time; SIGTERM is then handled like Ctrl-C.
        None if the process belongs to a program that uses the library.
    """

    def __init__(
        self, notify: Callable[[str], None] = lambda _: None, end_process: Callable[[], None] | None = None
    ) -> None:
        self.requested = False
        self._notify, self._end_process = notify, end_process
        self._since = 0.0
        self._is_announced = False
        self._next_count = FINISH_TIMEOUT_S
        self._closed = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM) if self._end_process else (signal.SIGINT,):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def count_down(self, running: int) -> bool:
        """Report the number of running tasks periodically after a request, and return whether the time is up."""
        self._announce()
        left = self._since + FINISH_TIMEOUT_S - time.monotonic()
        tasks, verb = counted(running, "task"), "is" if running == 1 else "are"
        if left <= 0:
            self._notify(
                f"{tasks} did not finish within {FINISH_TIMEOUT_S:.0f} s and {verb} abandoned; the same command "
                "resumes the run"
            )
        elif left <= self._next_count:
            self._next_count = left - COUNT_INTERVAL_S
            self._notify(f"{tasks} {verb} still running; at most {left:.0f} s left")
        return left <= 0

    def _announce(self) -> None:
        """Tell the user, once, that the run is stopping."""
        if not self._is_announced:
            self._notify(
                f"Stopping: running tasks have at most {FINISH_TIMEOUT_S:.0f} s to finish. A second Ctrl-C or "
                "SIGTERM stops the run immediately."
            )
            self._is_announced = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
            with suppress(RuntimeError):  # the signal arrived while a line was printed; `count_down` announces it later
                self._announce()
            self._end_after(FINISH_TIMEOUT_S + CLOSE_TIMEOUT_S, self._closed)
        elif number == signal.SIGINT or time.monotonic() - self._since > SAME_REQUEST_S:
            self._end_after(STOP_TIMEOUT_S, threading.Event())
            raise KeyboardInterrupt

    def _end_after(self, seconds: float, cancelled: threading.Event) -> None:
        """End the process of a command after some seconds, unless the event `cancelled` is set before then."""
        end_process = self._end_process
        if end_process is None:
            return

        def end() -> None:
            if not cancelled.wait(seconds):
                end_process()

        with suppress(RuntimeError):  # without a thread, closing the cluster has no time limit
            threading.Thread(target=end, daemon=True).start()
