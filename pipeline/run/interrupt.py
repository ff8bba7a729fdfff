"""Ctrl-C and the warning of a batch system: the first request stops a run in order, the second one at once.

Both are bounded. Tasks that are running get `SECONDS_TO_FINISH` after the first request. A command ends its process
if closing the cluster takes too long after that; everything that is finished is in the ledger by then. A program that
uses the library keeps its process.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Any, Self

SECONDS_OF_ONE_WARNING = 1.0
"""A batch system may send its warning twice: to the process, and through the program that started it."""
SECONDS_TO_FINISH = 30.0
"""Time for running tasks after the first request."""
SECONDS_BETWEEN_COUNTS = 10.0
SECONDS_TO_CLOSE = 15.0
"""Time for closing the cluster after that."""
SECONDS_TO_STOP = 4.5
"""Time until the process ends after the second request."""
EXIT_CODE = 130
STDERR = 2
STOPPED = "Stopped. The same command continues from here."


class Interrupt:
    """Handle signals while it is open, and tell whether someone asked the run to stop.

    Signals can be handled in the main thread only. In other threads, nothing is installed.

    Parameters
    ----------
    say
        Shows a message to the user at the moment of the request, since the run itself may be waiting.
    owns_process
        Whether the process belongs to the run. Then SIGTERM is handled like Ctrl-C, and the process is ended if it
        does not stop in time.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None, owns_process: bool = False) -> None:
        self.requested = False
        self._say, self._owns_process = say, owns_process
        self._since = 0.0
        self._is_announced = False
        self._next_count = SECONDS_TO_FINISH
        self._closed = threading.Event()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM) if self._owns_process else (signal.SIGINT,):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def count_down(self, running: int) -> bool:
        """Report the number of running tasks from time to time after a request, and return whether time is up."""
        self._announce()
        left = self._since + SECONDS_TO_FINISH - time.monotonic()
        tasks = "1 task is still running" if running == 1 else f"{running} tasks are still running"
        if left <= 0:
            self._say(f"{tasks} after {SECONDS_TO_FINISH:.0f} s and abandoned; the same command repeats that work")
        elif left <= self._next_count:
            self._next_count = left - SECONDS_BETWEEN_COUNTS
            self._say(f"{tasks}; they have at most {left:.0f} s left")
        return left <= 0

    def _announce(self) -> None:
        """Tell the user, once, that the run is stopping."""
        if not self._is_announced:
            self._say(
                f"Stopping: running tasks get at most {SECONDS_TO_FINISH:.0f} s to finish. A second request stops at "
                "once."
            )
            self._is_announced = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
            with suppress(RuntimeError):  # it came while a line was printed; `count_down` announces it soon
                self._announce()
            if self._owns_process:
                _end_after(SECONDS_TO_FINISH + SECONDS_TO_CLOSE, self._closed)
        elif number == signal.SIGINT or time.monotonic() - self._since > SECONDS_OF_ONE_WARNING:
            if self._owns_process:
                _end_after(SECONDS_TO_STOP, threading.Event())
            raise KeyboardInterrupt


def _end_after(seconds: float, unless: threading.Event) -> None:
    """End this process after some seconds, unless it has ended by then or an event is set."""

    def end() -> None:
        if not unless.wait(seconds):
            with suppress(OSError):
                os.write(STDERR, f"{STOPPED}\n".encode())
            os._exit(EXIT_CODE)

    with suppress(RuntimeError):  # no thread can be started, so hardly any is there to wait for
        threading.Thread(target=end, daemon=True).start()
