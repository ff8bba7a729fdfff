"""Define how a command ends after Ctrl-C or SIGTERM."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress

EXIT_CODE = 130
STDERR = 2
STOPPED = "Stopped. The same command resumes the run."
WATCH = "--watch"
"""Option of commands that follow a run until it ends, or until Ctrl-C."""


def report_stop(arguments: Sequence[str]) -> int:
    """Tell the user what Ctrl-C has stopped, and return the exit code.

    A command that only watches a run ends without a message, since Ctrl-C is the usual way to end it.
    """
    if WATCH in arguments:
        return 0
    with suppress(OSError, ValueError):
        if sys.stderr is not None:
            sys.stderr.write(f"{STOPPED}\n")
            sys.stderr.flush()
    return EXIT_CODE


def end_process() -> None:
    """End this process at once, without waiting for threads that do not respond."""
    with suppress(OSError):
        os.write(STDERR, f"{STOPPED}\n".encode())
    os._exit(EXIT_CODE)
