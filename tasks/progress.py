"""Tell a listener how far a long computation is, if anyone listens; results do not depend on it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listen = Callable[[str], None]

_listener: ContextVar[Listen | None] = ContextVar("progress_listener", default=None)


def report_progress(text: str) -> None:
    """Pass a short text, such as "23 passes, 9 of 16 ridges", to the listener; without a listener, do nothing."""
    listener = _listener.get()
    if listener is not None:
        listener(text)


@contextmanager
def progress_listener(listener: Listen) -> Iterator[None]:
    """Pass what is reported in a `with` block, in this thread, to a function. It is called often, so it must be fast.

    >>> with progress_listener(print):
    ...     report_progress("3 passes")
    3 passes
    """
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


@contextmanager
def progress_part(label: str) -> Iterator[None]:
    """Report that a part of a computation begins, and put its label before everything that is reported in the block.

    >>> with progress_listener(print), progress_part("value 2 of 12"):
    ...     report_progress("5 rounds")
    value 2 of 12
    value 2 of 12: 5 rounds
    """
    outer = _listener.get()
    if outer is None:
        yield
        return
    outer(label)
    with progress_listener(lambda text: outer(f"{label}: {text}")):
        yield
