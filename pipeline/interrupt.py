"""Ctrl-C, and the warning of a batch system: the first asks a run to stop in order, the second stops it at once."""

import signal
import time
from types import FrameType, TracebackType
from typing import Self

SIGNALS = (signal.SIGINT, signal.SIGTERM)
SECONDS_OF_ONE_WARNING = 1.0
"""A batch system's may come more than once: to a process, and by way of the program that started it."""


class Interrupt:
    """While it is open, says whether someone asked to stop."""

    def __init__(self) -> None:
        self.requested = False
        self._since = 0.0
        self._before = {number: signal.getsignal(number) for number in SIGNALS}

    def __enter__(self) -> Self:
        for number in SIGNALS:
            signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if not self.requested:
            self.requested, self._since = True, time.monotonic()
        elif number == signal.SIGINT or time.monotonic() - self._since > SECONDS_OF_ONE_WARNING:
            raise KeyboardInterrupt
