"""What each worker process does when it starts, also one that replaces another."""

import logging
import signal
from pathlib import Path

from distributed import Worker, WorkerPlugin


class WorkerSetup(WorkerPlugin):
    """Logs to a file of its own in the run directory, and leaves Ctrl-C to the driver."""

    name = "worker-setup"

    def __init__(self, logs: str) -> None:
        self.logs = logs

    def setup(self, worker: Worker) -> None:
        """Called by the worker in its main thread."""
        # A terminal sends Ctrl-C to every process; a worker would answer with a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        handler = logging.FileHandler(Path(self.logs) / f"worker-{worker.name}.log", delay=True)
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
        logging.getLogger().addHandler(handler)
