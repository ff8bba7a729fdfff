"""Workers that are threads of the driver: nothing to start, one process to debug.

A task that crashes Python takes the run with it, and Python's own part of the work is done by one core.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.local import check_system, worker_limits
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD, dashboard_on_loopback, own_settings

__all__ = ["check_system", "open_workers", "worker_limits"]


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Start the workers."""
    import dask
    from distributed import Client, LocalCluster

    count, _ = worker_limits(profile)
    with (
        dask.config.set(own_settings(profile)),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=False,
            memory_limit=0,  # all share the memory of this process; the plan has checked that they fit
            dashboard_address=LOOPBACK_DASHBOARD,
            worker_dashboard_address=LOOPBACK_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as started,
        Client(started) as client,
    ):
        yield Cluster(client=client, workers=count, dashboard=dashboard_on_loopback(profile, started.dashboard_link))
