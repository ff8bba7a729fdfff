"""What each worker process does when it starts, also one that replaces another."""

import logging
import signal
import threading
from pathlib import Path

from distributed import Worker, WorkerPlugin


class WorkerSetup(WorkerPlugin):
    """One BLAS thread, a log file of its own where workers see the folder of logs, and Ctrl-C left to the driver."""

    name = "worker-setup"

    def __init__(self, logs: str) -> None:
        self.logs = logs

    def setup(self, worker: Worker) -> None:
        """Called by the worker as it starts."""
        import scipy.linalg  # noqa: F401, brings the libraries whose threads are limited
        from threadpoolctl import threadpool_limits

        threadpool_limits(1)  # workers that others started may have come without our environment
        if threading.current_thread() is not threading.main_thread():
            return  # a thread of the driver, which logs and takes Ctrl-C for itself
        # A terminal sends Ctrl-C to every process; a worker would answer with a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if Path(self.logs).is_dir():
            handler = logging.FileHandler(Path(self.logs) / f"worker-{worker.name}.log", delay=True)
            handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
            logging.getLogger().addHandler(handler)
