"""Make calls to the scheduler in background threads, so that an unresponsive scheduler does not block the driver."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("kernel_pipeline")

T = TypeVar("T")


class BackgroundCall(Generic[T]):
    """A call that is made repeatedly, by one thread at a time.

    Parameters
    ----------
    function
        The function to call, without arguments.
    """

    def __init__(self, function: Callable[[], T]) -> None:
        self._function = function
        self._thread: threading.Thread | None = None
        self._result: list[T] = []
        self._error: BaseException | None = None
        self._started = time.monotonic()

    @property
    def pending_seconds(self) -> float:
        """Seconds since the pending call was started; 0 if none is pending."""
        return time.monotonic() - self._started if self._thread is not None else 0.0

    def result(self, timeout: float) -> T | None:
        """Start a call unless one is pending, and wait for its result.

        Returns
        -------
        result
            None if the call has not returned after `timeout` seconds; the next `result` then waits for the same call.
        """
        if self._thread is None:
            self._started, self._error = time.monotonic(), None
            self._result.clear()
            self._thread = threading.Thread(target=self._run, daemon=True)
            self._thread.start()
        self._thread.join(timeout)
        if self._thread.is_alive():
            return None
        self._thread = None
        if self._error is not None:
            raise self._error
        return self._result[0]

    def _run(self) -> None:
        try:
            self._result.append(self._function())
        except BaseException as error:
            self._error = error


def call_in_background(function: Callable[[], object]) -> None:
    """Call a function in a new thread without waiting for it; an error is only logged."""

    def call() -> None:
        try:
            function()
        except Exception as error:  # for example, the called worker has left
            log.warning("a background call failed: %s: %s", type(error).__name__, error)

    threading.Thread(target=call, daemon=True).start()
