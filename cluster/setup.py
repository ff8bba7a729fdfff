"""Set up worker processes, including those that replace lost ones."""

import logging
import re
import threading
from pathlib import Path
from typing import Any

from distributed import Worker, WorkerPlugin

from kernel_pipeline.cluster.log_file import LogFile


class WorkerSetup(WorkerPlugin):
    """Limit a worker to one BLAS thread, and write a log file if the directory of the logs is accessible."""

    def __init__(self, logs: str) -> None:
        # The name must be unique, since a worker may have plugins of other runs, and valid UTF-8, unlike some paths.
        self.name = f"setup for {logs!a}"
        self.logs = logs
        self._handler: logging.Handler | None = None
        self._limits: Any = None

    def setup(self, worker: Worker) -> None:
        """Set the worker up; the worker calls this when it starts."""
        import scipy.linalg  # noqa: F401, loads the BLAS libraries, whose threads are limited
        from threadpoolctl import threadpool_limits

        self._limits = threadpool_limits(1)  # external workers may not have the environment variables of `settings`
        if threading.current_thread() is not threading.main_thread():
            return  # a thread of the driver, which has its own log
        if Path(self.logs).is_dir():
            name = re.sub(r"[^\w.-]+", "-", str(worker.name))  # the default name of a worker is its address
            self._handler = LogFile(Path(self.logs) / f"worker-{name}.log", delay=True)
            logging.getLogger().addHandler(self._handler)

    def teardown(self, worker: Worker) -> None:
        """Undo the setup; the worker calls this when it ends or when the plugin is removed."""
        if self._limits is not None:
            self._limits.restore_original_limits()
        if self._handler is not None:
            logging.getLogger().removeHandler(self._handler)
            self._handler.close()
