"""Run worker processes on this machine, one thread each.

They listen only on the loopback interface, with encryption, because other users of the machine can access it.
"""

import logging
import multiprocessing
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

from kernel_pipeline.cluster.backend import Backend, Cluster, register
from kernel_pipeline.cluster.certificates import security_in_memory
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.limits import check_limits
from kernel_pipeline.cluster.main_module import main_module_hidden
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import ENVIRONMENT, dashboard_on_loopback, own_settings, scheduler_options

START_METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
"""With `forkserver`, workers are forked from one process that has imported all modules once."""

SET_BY_DASK = ("PYTHONHASHSEED", "__DASK_PARENT_PID")
"""Environment variables that Dask sets in this process, in addition to those of the workers."""

# Open files of the driver, measured with 1 to 6 workers, rounded up; a worker itself needs about 25.
DRIVER_FILES, FILES_PER_WORKER = 40, 12
# Limit on open files that a run requests, which is enough for 300 workers.
REQUESTED_FILES = 4096


class LocalMachine(Backend[Profile]):
    """Base class of the backends on this machine."""

    KEYS = frozenset({"jobs", "dashboard"})
    IS_LOCAL = True

    def check_system(self) -> None:
        """Check that the limits of this process allow the requested number of workers."""
        check_limits(self.profile.jobs or len(os.sched_getaffinity(0)))

    def worker_limits(self) -> tuple[int, int]:
        """Return the number of workers and the memory of each, within the limits of the cgroup of this process."""
        from dask.system import CPU_COUNT
        from distributed.system import MEMORY_LIMIT

        count = self.profile.jobs or CPU_COUNT
        return count, int(MEMORY_LIMIT) // count


@register("local")
class Local(LocalMachine):
    """Worker processes on this machine."""

    def warm_up(self, modules: tuple[str, ...]) -> None:
        """Start the process from which workers are forked; it imports modules while the driver reads the data."""
        _raise_file_limit()
        if START_METHOD != "forkserver":
            return
        forkserver.set_forkserver_preload(["kernel_pipeline.cluster.forked", "distributed", *modules])
        with _environment_restored():
            os.environ.update(ENVIRONMENT)  # read when a process starts and when libraries are imported
            forkserver.ensure_running()

    def check_driver(self, logs: Path) -> None:
        """Check that the limits of this machine allow worker processes."""
        count, _ = self.worker_limits()
        needed = DRIVER_FILES + FILES_PER_WORKER * count
        if (files := _raise_file_limit()) < needed:
            raise ClusterError(
                f"{count} worker(s) need about {needed} open files, and this process may open only {files}. Raise the "
                f"limit (ulimit -n {needed}), use fewer workers (--workers 1), or use --cluster threads"
            )
        try:
            multiprocessing.get_context(START_METHOD).Lock()
        except OSError as error:
            raise ClusterError(
                "worker processes need semaphores in shared memory, which this machine does not provide: "
                f"{error.strerror}. Make /dev/shm writable, or use --cluster threads"
            ) from None

    @contextmanager
    def open_workers(self, logs: Path) -> Iterator[Cluster]:
        """Start the workers."""
        import dask
        from distributed import Client

        from kernel_pipeline.cluster.private_cluster import PrivateCluster

        self.check_driver(logs)
        self.warm_up(())  # does nothing if it was called before
        count, memory = self.worker_limits()
        with (
            _environment_restored(),  # Dask changes it in this process too, when it starts workers
            main_module_hidden(),
            dask.config.set(own_settings(self.profile) | {"distributed.worker.multiprocessing-method": START_METHOD}),
            PrivateCluster(
                n_workers=count,
                threads_per_worker=1,
                memory_limit=memory,
                host="127.0.0.1",
                security=security_in_memory(),
                scheduler_kwargs=scheduler_options(self.profile),
                silence_logs=logging.CRITICAL,
            ) as started,
            Client(started) as client,
        ):
            try:
                yield Cluster(
                    client=client,
                    max_workers=count,
                    dashboard=dashboard_on_loopback(self.profile, started.dashboard_link),
                    replace_lost=partial(started.scale, count),  # Dask does not replace workers that fail to start
                )
            except BaseException:
                started.stop_at_once()  # does not wait for running tasks
                raise


@contextmanager
def _environment_restored() -> Iterator[None]:
    """Restore the environment variables that workers get, and that this process must keep, after a block."""
    before = {name: os.environ.get(name) for name in (*ENVIRONMENT, *SET_BY_DASK)}
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _raise_file_limit() -> int:
    """Raise the limit on open files, for this process and its children, as far as allowed; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = REQUESTED_FILES if hard == resource.RLIM_INFINITY else min(hard, REQUESTED_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return REQUESTED_FILES if soft == resource.RLIM_INFINITY else soft
