"""Worker processes on this machine, one thread each, on loopback only, and encrypted: other users can reach that too."""

import logging
import multiprocessing
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from multiprocessing import forkserver
from pathlib import Path
from typing import TYPE_CHECKING

from cluster import Cluster
from cluster.certificates import security_in_memory
from cluster.profile import Profile
from cluster.settings import ENVIRONMENT, LOOPBACK_DASHBOARD, dashboard_on_loopback, own_settings

if TYPE_CHECKING:
    from distributed import LocalCluster

# Where the system can fork, workers are forked from one process that has imported everything once.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"


def warm_up(modules: tuple[str, ...]) -> None:
    """Start the process that workers are forked from; it imports while this one reads config and data."""
    if METHOD != "forkserver":
        return
    forkserver.set_forkserver_preload(["cluster.forked", "distributed", *modules])
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)  # read when a process starts and when libraries are imported
    forkserver.ensure_running()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def worker_limits(profile: Profile) -> tuple[int, int]:
    """Workers and the memory of each, from the cores and memory that this process may use (cgroups count)."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    count = profile.jobs or CPU_COUNT
    return count, int(MEMORY_LIMIT) // count


@contextmanager
def open_workers(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Start the workers."""
    import dask
    from distributed import Client, LocalCluster

    warm_up(())  # unless it was done ahead
    count, memory = worker_limits(profile)
    class Started(LocalCluster):  # type: ignore[misc]
        """Its client is in the process of the scheduler, and needs no connection that has to be encrypted."""

        @property
        def scheduler_address(self) -> str:
            return str(self.scheduler.listeners[-1].contact_address)

    with (
        dask.config.set(own_settings(profile) | {"distributed.worker.multiprocessing-method": METHOD}),
        Started(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            security=security_in_memory(),
            dashboard_address=LOOPBACK_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as started,
    ):
        started.sync(started.scheduler.listen, "inproc://")
        with Client(started) as client, _stopped_at_once(started):
            yield Cluster(
                client=client,
                workers=count,
                dashboard=dashboard_on_loopback(profile, started.dashboard_link),
                mend=partial(started.scale, count),  # a worker that dies as it starts is not replaced otherwise
            )


@contextmanager
def _stopped_at_once(started: "LocalCluster") -> Iterator[None]:
    """When a run does not end well, do not wait for what its workers still do; they ignore Ctrl-C and SIGTERM."""
    try:
        yield
    except BaseException:
        for nanny in list(started.workers.values()):
            nanny.close_gracefully()  # so that it starts no other worker
            with suppress(OSError):
                if pid := nanny.pid:
                    os.kill(pid, signal.SIGKILL)
        raise
