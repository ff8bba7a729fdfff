"""A log file a worker, in the run directory."""

import logging
from pathlib import Path

from distributed import Worker, WorkerPlugin


class LogToFile(WorkerPlugin):
    """Writes what a worker process logs to a file named after it."""

    name = "log-to-file"

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def setup(self, worker: Worker) -> None:
        """Called on each worker when it starts, also on one that replaces another."""
        handler = logging.FileHandler(Path(self.folder) / f"worker-{worker.name}.log", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(handler)
