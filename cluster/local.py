"""Worker processes on this machine, one thread each, on loopback only."""

import logging
import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from multiprocessing import forkserver
from pathlib import Path

from cluster import Cluster

ENVIRONMENT = {
    # One BLAS thread a worker: with two on a loaded machine the same work took ten times as long.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # Of what a task frees, at most so much is kept, so that the next one starts where the plan says; keeping
    # nothing would make fits take half as long again, for the system to hand out the same pages anew.
    "MALLOC_TRIM_THRESHOLD_": str(128 << 20),
    "MALLOC_MMAP_THRESHOLD_": str(32 << 20),
    "PYTHONSAFEPATH": "1",  # no module of the working directory stands in for one of ours
    "MALLOC_ARENA_MAX": "2",  # else each thread that decodes chunks keeps its own
}
# Where the system can fork, workers are forked from one process that has imported everything once.
METHOD = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
SETTINGS = {
    "distributed.nanny.pre-spawn-environ": ENVIRONMENT,
    "distributed.worker.multiprocessing-method": METHOD,
    # Results go to the store, so a worker holds nothing that is worth spilling.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    # The driver counts the deaths of workers itself, so that it can tell the task that kills from those that wait.
    "distributed.scheduler.allowed-failures": 0,
}


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


def worker_limits(workers: int | None) -> tuple[int, int]:
    """Workers and the memory of each, from the cores and memory that this process may use (cgroups count)."""
    from dask.system import CPU_COUNT
    from distributed.system import MEMORY_LIMIT

    count = workers or CPU_COUNT
    return count, int(MEMORY_LIMIT) // count


@contextmanager
def open_workers(workers: int | None, logs: Path) -> Iterator[Cluster]:
    """Start the workers, with a log file each."""
    import dask
    from distributed import Client, LocalCluster

    from cluster.setup import WorkerSetup

    warm_up(())  # unless it was done ahead
    count, memory = worker_limits(workers)
    with (
        dask.config.set(SETTINGS),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as started,
        Client(started) as client,
    ):
        client.register_plugin(WorkerSetup(str(logs)))
        yield Cluster(
            client=client,
            workers=count,
            dashboard=started.dashboard_link,
            mend=partial(started.scale, count),  # a worker that dies as it starts is not replaced otherwise
        )
