"""Run workers in threads of the driver, which start immediately and are easy to debug.

A task that crashes the Python process ends the run, and pure Python code uses only one core.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_pipeline.cluster.backend import Cluster, register
from kernel_pipeline.cluster.local import LocalMachine
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD, dashboard_on_loopback, own_settings, scheduler_options


@register("threads")
class Threads(LocalMachine):
    """Workers that are threads of the driver."""

    PAUSES_WORKERS = False

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Start the workers."""
        import dask
        from distributed import Client, LocalCluster

        from kernel_pipeline.cluster.plain_worker import PlainWorker

        count, _ = self.worker_limits()
        with (
            dask.config.set(own_settings(self.profile)),
            LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=False,
                memory_limit=0,  # all share the memory of this process, which the plan has checked
                scheduler_kwargs=scheduler_options(self.profile),
                worker_class=PlainWorker,
                worker_dashboard_address=LOOPBACK_DASHBOARD,
                silence_logs=logging.CRITICAL,
            ) as started,
            Client(started) as client,
        ):
            dashboard = dashboard_on_loopback(self.profile, started.dashboard_link)
            yield Cluster(client=client, max_workers=count, dashboard=dashboard)
