"""Write the logs of a run to a local folder, and store them with the run when it ends."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.cluster.log_file import LogFile
from kernel_pipeline.store.files import make_private

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")


class Logs:
    """The log files of a run in a local folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trim(self) -> None:
        """Limit the size of the logs, if they are only temporary; a run directory keeps all of them."""

    def keep(self) -> None:
        """Move the logs to the storage of the run, if that is elsewhere; called at the end, even after an error."""


class DriverLog(LogFile):
    """The log of the driver, with one line per task. All logs are trimmed after every `LINES_BETWEEN_TRIMS` lines."""

    LINES_BETWEEN_TRIMS = 1000

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.folder / "driver.log")
        self._logs, self._lines = logs, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write one line, and trim all logs periodically."""
        super().emit(record)
        self._lines += 1
        if self._lines % self.LINES_BETWEEN_TRIMS == 0:
            with suppress(OSError):  # a run must not fail because of its logs
                self._logs.trim()


@contextmanager
def driver_log(root: "Storage") -> Iterator[None]:
    """Log the messages of the driver to a file, and store all logs with the run at the end."""
    logs = root.logs()
    make_private(logs.folder)
    handler = DriverLog(logs)
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
        logs.keep()
