"""Tolerate errors on standard output, so that they do not stop a run."""

import errno
import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, TypeVar, cast

T = TypeVar("T")

STANDARD_DESCRIPTORS = 3


class TolerantStream:
    """A text stream that stores errors instead of raising them; after the first error, all output is discarded."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.error: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write text."""
        return self._try(lambda: self._stream.write(text), len(text))

    def flush(self) -> None:
        """Write the contents of the buffer."""
        self._try(self._stream.flush, None)

    @property
    def is_broken(self) -> bool:
        """Return whether writing failed for a reason other than a closed pipe, such as that of `| head`."""
        return self.error is not None and self.error.errno != errno.EPIPE

    def _try(self, function: Callable[[], T], default: T) -> T:
        try:
            return function()
        except OSError as error:
            if self.error is None:
                self.error = error
                if self.is_broken:
                    _print_to_stderr(
                        f"note: cannot write to standard output: {error.strerror}. The command continues without output"
                    )
            self._discard()
            return default

    def _discard(self) -> None:
        """Discard the buffer and all further output, so that closing the stream does not fail too."""
        with suppress(OSError, ValueError):
            null_device = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null_device, self._stream.fileno())
            os.close(null_device)
            self._stream.flush()


@contextmanager
def tolerant_output() -> Iterator[TolerantStream]:
    """Replace standard output with a stream that raises no errors; characters that it cannot encode become `?`."""
    _open_standard_descriptors()
    before = sys.stdout
    if isinstance(before, io.TextIOWrapper):
        before.reconfigure(errors="replace")  # a terminal whose encoding lacks ± shows a question mark
    stream = TolerantStream(before or io.StringIO())
    sys.stdout = cast(TextIO, stream)
    try:
        yield stream
    finally:
        stream.flush()
        sys.stdout = before


def _open_standard_descriptors() -> None:
    """Open closed standard descriptors, so that no other file gets their numbers and the output of libraries."""
    while (descriptor := os.open(os.devnull, os.O_RDWR)) < STANDARD_DESCRIPTORS:
        os.set_inheritable(descriptor, True)
    os.close(descriptor)


def _print_to_stderr(line: str) -> None:
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"{line}\n")
            sys.stderr.flush()
