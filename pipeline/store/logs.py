"""The logs of a run: written to a folder of this machine, and kept where the run is."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.store.files import make_private

if TYPE_CHECKING:
    from kernel_pipeline.store.storage import Storage

log = logging.getLogger("kernel_pipeline")


class Logs:
    """The log files of a run in a folder, whose place that is."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def trim(self) -> None:
        """Bound them, where they are in the way; a run directory keeps them all."""

    def keep(self) -> None:
        """Bring them to their place, at the end of a run, however it ends."""


class DriverLog(logging.FileHandler):
    """The log of the driver. It has a line for each task, and so tells when to look after all logs."""

    LINES_BETWEEN_LOOKS = 1000

    def __init__(self, logs: Logs) -> None:
        super().__init__(logs.folder / "driver.log")
        self._logs, self._lines = logs, 0

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        super().emit(record)
        self._lines += 1
        if self._lines % self.LINES_BETWEEN_LOOKS == 0:
            with suppress(OSError):  # a log is not worth a run
                self._logs.trim()


@contextmanager
def driver_log(root: "Storage") -> Iterator[None]:
    """Log what the driver does, and keep all logs at the end."""
    logging.raiseExceptions = False  # a full disk is said once, by the run itself
    logs = root.logs()
    make_private(logs.folder)
    handler = DriverLog(logs)
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
        logs.keep()
