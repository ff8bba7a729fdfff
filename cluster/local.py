"""Worker processes on this machine, one thread each, on loopback only."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import dask
from dask.system import CPU_COUNT
from distributed import Client, LocalCluster
from distributed.system import MEMORY_LIMIT

from cluster import Cluster
from cluster.logs import LogToFile

SETTINGS = {
    # One BLAS thread a worker: with two on a loaded machine the same work took ten times as long.
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
    },
    # Results go to the store, so a worker holds nothing that is worth spilling.
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
}


def worker_limits(workers: int | None) -> tuple[int, int]:
    """Workers and the memory of each, from the cores and memory that this process may use (cgroups count)."""
    count = workers or CPU_COUNT
    return count, int(MEMORY_LIMIT) // count


@contextmanager
def open_workers(workers: int | None, logs: Path) -> Iterator[Cluster]:
    """Start the workers, with a log file each."""
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
        client.register_plugin(LogToFile(str(logs)))
        yield Cluster(client=client, workers=count, dashboard=started.dashboard_link)
