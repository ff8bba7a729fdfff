"""What each worker process does when it starts, also one that replaces another."""

import logging
import re
import threading
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin


class WorkerSetup(WorkerPlugin):
    """One BLAS thread, and for as long as it is registered a log file where workers see the folder of logs."""

    def __init__(self, logs: str) -> None:
        # Workers may have those of other runs beside it. Names are sent as UTF-8, which a path need not be.
        self.name = f"setup for {logs!a}"
        self.logs = logs
        self._handler: logging.Handler | None = None
        self._limits: Any = None

    def setup(self, worker: Worker) -> None:
        """Called by the worker as it starts."""
        import scipy.linalg  # noqa: F401, brings the libraries whose threads are limited
        from threadpoolctl import threadpool_limits

        self._limits = threadpool_limits(1)  # workers that others started may have come without our environment
        if threading.current_thread() is not threading.main_thread():
            return  # a thread of the driver, which logs for itself
        if Path(self.logs).is_dir():
            name = re.sub(r"[^\w.-]+", "-", str(worker.name))  # an address, unless someone gave it a name
            self._handler = logging.FileHandler(Path(self.logs) / f"worker-{name}.log", delay=True)
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
            logging.getLogger().addHandler(self._handler)

    def teardown(self, worker: Worker) -> None:
        """Called by the worker as it ends, or when it has to forget the run."""
        if self._limits is not None:
            self._limits.restore_original_limits()
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
            self._handler.close()
