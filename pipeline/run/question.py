"""Questions to a scheduler that may never answer: they are asked by a thread, so that the driver does not hang."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("kernel_pipeline")

T = TypeVar("T")


class Question(Generic[T]):
    """One question that is asked again and again.

    Parameters
    ----------
    ask
        Asks it and returns the answer. Called by one thread at a time.
    """

    def __init__(self, ask: Callable[[], T]) -> None:
        self._ask = ask
        self._thread: threading.Thread | None = None
        self._answer: list[T] = []
        self._error: BaseException | None = None
        self._asked = time.monotonic()

    @property
    def unanswered(self) -> float:
        """Seconds since the pending question was asked; 0 if the last one was answered."""
        return time.monotonic() - self._asked if self._thread is not None else 0.0

    def answer(self, patience: float) -> T | None:
        """Ask, unless it is being asked; the answer, or None if there is none after so many seconds."""
        if self._thread is None:
            self._asked, self._error = time.monotonic(), None
            self._answer.clear()
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._thread.join(patience)
        if self._thread.is_alive():
            return None
        self._thread = None
        if self._error is not None:
            raise self._error
        return self._answer[0]

    def _run(self) -> None:
        try:
            self._answer.append(self._ask())
        except BaseException as error:
            self._error = error


def tell(message: Callable[[], object]) -> None:
    """Send a message by a thread of its own, and do not wait for an answer."""

    def send() -> None:
        try:
            message()
        except Exception as error:  # as when the one that was told has left
            log.warning("a message did not arrive: %s: %s", type(error).__name__, error)

    threading.Thread(target=send, daemon=True).start()
