"""Ctrl-C, and the warning of a batch system: the first asks a run to stop in order, the second stops it at once.

Both are bounded. Tasks in flight get `SECONDS_TO_FINISH` after the first. Whatever the run then waits for, a thread of
its own ends the process when closing takes too long; what is done is in the ledger by then.
"""

import os
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType, TracebackType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_OF_ONE_WARNING = 1.0
"""A batch system's may come more than once: to a process, and by way of the program that started it."""
SECONDS_TO_FINISH = 30.0
"""How long tasks in flight may take after the first."""
SECONDS_BETWEEN_COUNTS = 10.0
SECONDS_TO_CLOSE = 15.0
"""How long the cluster may take to close after that."""
SECONDS_TO_STOP = 4.5
"""How long the process may live after the second."""
EXIT_CODE = 130
STDERR = 2
STOPPED = "Stopped at once. The same command goes on from here."


class Interrupt:
    """While it is open, says whether someone asked to stop.

    Parameters
    ----------
    say
        Tells the user, right when the request comes: the run itself may be waiting for something.
    """

    def __init__(self, say: Callable[[str], None] = lambda _: None) -> None:
        self.requested = False
        self._say = say
        self._since = 0.0
        self._is_announced = False
        self._next_count = SECONDS_TO_FINISH
        self._closed = threading.Event()
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closed.set()
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def count_down(self, running: int) -> bool:
        """Say now and then how many tasks are in flight once a stop was requested, and whether their time is up."""
        self._announce()
        left = self._since + SECONDS_TO_FINISH - time.monotonic()
        tasks = "1 task still runs" if running == 1 else f"{running} tasks still run"
        if left <= 0:
            self._say(f"{tasks} after {SECONDS_TO_FINISH:.0f} s, abandoned: the same command does that work again")
        elif left <= self._next_count:
            self._next_count = left - SECONDS_BETWEEN_COUNTS
            self._say(f"{tasks}; at most {left:.0f} s are left")
        return left <= 0

    def _announce(self) -> None:
        """Tell the user, once, that the run stops."""
        if not self._is_announced:
            self._say(
                f"Stopping: what is in flight is finished first, for at most {SECONDS_TO_FINISH:.0f} s. "
                "Once more stops at once."
            )
            self._is_announced = True

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
            with suppress(RuntimeError):  # it came in the middle of a line; the run says it in a moment
                self._announce()
            _end_after(SECONDS_TO_FINISH + SECONDS_TO_CLOSE, self._closed)
        elif number == signal.SIGINT or time.monotonic() - self._since > SECONDS_OF_ONE_WARNING:
            _end_after(SECONDS_TO_STOP, threading.Event())
            raise KeyboardInterrupt


def _end_after(seconds: float, unless: threading.Event) -> None:
    """End this process in so many seconds, unless it has ended by then or an event is set."""

    def end() -> None:
        if not unless.wait(seconds):
            with suppress(OSError):
                os.write(STDERR, f"{STOPPED}\n".encode())
            os._exit(EXIT_CODE)

    with suppress(RuntimeError):  # there is no room for a thread, and so hardly one to wait for
        threading.Thread(target=end, daemon=True).start()
