"""Worker processes on this machine, one thread each, on loopback and encrypted, since other users can reach it."""

import logging
import multiprocessing
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.certificates import security_in_memory
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.limits import check_limits
from kernel_pipeline.cluster.main_module import main_module_hidden
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import ENVIRONMENT, LOOPBACK_DASHBOARD, dashboard_on_loopback, own_settings

# Where the system can fork, workers are forked from one process that has imported everything once.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"

# Open files that the driver needs, measured with 1 to 6 workers and with some to spare; a worker needs about 25.
FILES_OF_DRIVER, FILES_PER_WORKER = 40, 12
USUAL_FILES = 4096


def check_driver(profile: Profile, _logs: Path) -> None:
    """Refuse a machine whose limits do not allow worker processes."""
    count, _ = worker_limits(profile)
    needed = FILES_OF_DRIVER + FILES_PER_WORKER * count
    if (files := _raised_file_limit()) < needed:
        raise ClusterError(
            f"{count} worker(s) need about {needed} open files, and a process may have {files} files open here. Raise "
            f"the limit (ulimit -n {needed}), ask for fewer workers (--workers 1), or use --cluster threads"
        )
    try:
        multiprocessing.get_context(METHOD).Lock()
    except OSError as error:
        raise ClusterError(
            f"worker processes need semaphores in shared memory, and this machine gives none: {error.strerror}. Mount "
            "/dev/shm so that it can be written, or use --cluster threads"
        ) from None


def _raised_file_limit() -> int:
    """The limit of open files of this process and of those that it starts, raised as far as that is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = USUAL_FILES if hard == resource.RLIM_INFINITY else min(hard, USUAL_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return USUAL_FILES if soft == resource.RLIM_INFINITY else soft


def warm_up(modules: tuple[str, ...]) -> None:
    """Start the process that workers are forked from; it imports while this one reads config and data."""
    _raised_file_limit()
    if METHOD != "forkserver":
        return
    forkserver.set_forkserver_preload(["kernel_pipeline.cluster.forked", "distributed", *modules])
    before = {name: os.environ.get(name) for name in ENVIRONMENT}
    os.environ.update(ENVIRONMENT)  # read when a process starts and when libraries are imported
    forkserver.ensure_running()
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value


def check_system(profile: Profile) -> None:
    """Refuse what this machine could not start."""
    check_limits(profile.jobs or len(os.sched_getaffinity(0)))


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
    from distributed import Client

    from kernel_pipeline.cluster.private_cluster import PrivateCluster

    check_driver(profile, _logs)
    warm_up(())  # unless it was done ahead
    count, memory = worker_limits(profile)
    with (
        main_module_hidden(),
        dask.config.set(own_settings(profile) | {"distributed.worker.multiprocessing-method": METHOD}),
        PrivateCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            security=security_in_memory(),
            dashboard_address=LOOPBACK_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as started,
        Client(started) as client,
    ):
        try:
            yield Cluster(
                client=client,
                workers=count,
                dashboard=dashboard_on_loopback(profile, started.dashboard_link),
                mend=partial(started.scale, count),  # a worker that dies as it starts is not replaced otherwise
            )
        except BaseException:
            started.stop_at_once()  # what is still done there is not waited for
            raise
