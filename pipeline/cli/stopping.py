"""Define how a command ends after Ctrl-C or SIGTERM."""

import os
from contextlib import suppress

EXIT_CODE = 130
STDERR = 2
STOPPED = "Stopped. The same command resumes the run."


def end_process() -> None:
    """End this process at once, without waiting for threads that do not respond."""
    with suppress(OSError):
        os.write(STDERR, f"{STOPPED}\n".encode())
    os._exit(EXIT_CODE)
