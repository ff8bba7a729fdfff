"""Setup of worker processes, which also runs in workers that replace lost ones."""

import logging
import re
import threading
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin


class WorkerSetup(WorkerPlugin):
    """Limit a worker to one BLAS thread, and write a log file if it can reach the directory of the logs."""

    def __init__(self, logs: str) -> None:
        # Workers may have the plugins of other runs too. Names are sent as UTF-8, which a path need not be.
        self.name = f"setup for {logs!a}"
        self.logs = logs
        self._handler: logging.Handler | None = None
        self._limits: Any = None

    def setup(self, worker: Worker) -> None:
        """Set the worker up; the worker calls this when it starts."""
        import scipy.linalg  # noqa: F401, loads the libraries whose threads are limited
        from threadpoolctl import threadpool_limits

        self._limits = threadpool_limits(1)  # external workers may lack our environment variables
        if threading.current_thread() is not threading.main_thread():
            return  # a thread of the driver, which has its own log
        if Path(self.logs).is_dir():
            name = re.sub(r"[^\w.-]+", "-", str(worker.name))  # an address, unless the worker was given a name
            self._handler = logging.FileHandler(Path(self.logs) / f"worker-{name}.log", delay=True)
            self._handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
            logging.getLogger().addHandler(self._handler)

    def teardown(self, worker: Worker) -> None:
        """Undo the setup; the worker calls this when it ends or when the plugin is removed."""
        if self._limits is not None:
            self._limits.restore_original_limits()
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
            self._handler.close()
