"""Define log files whose write errors do not interrupt a run."""

import logging
from contextlib import suppress
from pathlib import Path


class LogFile(logging.FileHandler):
    """A log file whose write errors are ignored, since the run itself reports a full disk, and does so only once."""

    def __init__(self, path: Path, delay: bool = False) -> None:
        super().__init__(path, delay=delay)
        self.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802, the name of the standard library
        """Ignore a line that could not be written; the standard library would print a traceback."""

    def close(self) -> None:
        """Close the file, even if its last lines do not fit on the disk."""
        with suppress(OSError):
            super().close()
