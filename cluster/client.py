"""Use a `distributed.Client` that the caller has connected.

The client is not changed: the caller is responsible for its security, and closes it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernel_pipeline.cluster import PAUSED_AT
from kernel_pipeline.cluster.backend import Cluster
from kernel_pipeline.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def use_client(client: "Client") -> Iterator[Cluster]:
    """Use the workers of a client; workers that join later are used too.

    Neither the client nor the workers are closed at the end.

    Raises
    ------
    ClusterError
        If the client is asynchronous or not connected.
    """
    check_client(client)
    yield Cluster(
        client=client,
        max_workers=max(1, len(client.nthreads())),
        dashboard=client.dashboard_link or "none",
        is_external=True,
    )


def client_limits(client: "Client") -> tuple[int, int | None]:
    """Return the number of tasks that can run concurrently, and the bytes that each may use.

    The bytes are the share of one thread in the memory at which Dask pauses a worker; None if no worker has a memory
    limit.

    Raises
    ------
    ClusterError
        If the client is asynchronous or not connected.
    """
    check_client(client)
    count, memory = memory_per_task(client)
    return count, None if memory is None else int(PAUSED_AT * memory)


def memory_per_task(client: "Client") -> tuple[int, int | None]:
    """Return the number of tasks that the connected workers can run concurrently, and the memory of each in bytes.

    Each thread of a worker runs one task, in its share of the worker's memory. The memory is None if no worker has a
    limit.
    """
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]]
    return max(1, sum(worker["nthreads"] for worker in workers)), min(limits, default=None)


def check_client(client: "Client") -> None:
    """Check that a client can be used by a run.

    Raises
    ------
    ClusterError
        If it is asynchronous or not connected.
    """
    if client.asynchronous:
        raise ClusterError(
            "the client is asynchronous, and a run is synchronous. Connect another one with "
            f"Client({client.scheduler.address if client.scheduler else 'ADDRESS'!r}), and pass it as cluster"
        )
    if client.status != "running":
        raise ClusterError(f"the client is {client.status}, not running. Connect a client, and pass it as cluster")
