"""A cluster of the caller, given as a connected `distributed.Client`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernel_pipeline.cluster import PAUSED_AT, Cluster
from kernel_pipeline.cluster.errors import ClusterError

if TYPE_CHECKING:
    from distributed import Client


@contextmanager
def use_client(client: "Client") -> Iterator[Cluster]:
    """Use a connection as it is; neither the connection nor the workers are closed at the end.

    The caller is responsible for the security of the connection.
    """
    check_client(client)
    workers = max(1, len(client.nthreads()))
    yield Cluster(client=client, workers=workers, dashboard=client.dashboard_link, stays=True)


def client_limits(client: "Client") -> tuple[int, int | None]:
    """Return the number of tasks that can run concurrently, and the memory of each if it is limited."""
    check_client(client)
    workers = client.scheduler_info(n_workers=-1)["workers"].values()
    limits = [worker["memory_limit"] // worker["nthreads"] for worker in workers if worker["memory_limit"]]
    return max(1, sum(worker["nthreads"] for worker in workers)), int(PAUSED_AT * min(limits)) if limits else None


def check_client(client: "Client") -> None:
    """Reject a client that cannot be used from synchronous code."""
    if client.asynchronous:
        raise ClusterError(
            "the client is asynchronous, and a run is synchronous. Connect another one with "
            f"Client({client.scheduler.address if client.scheduler else 'ADDRESS'!r}), and pass it as cluster"
        )
    if client.status != "running":
        raise ClusterError(f"the client is {client.status}, not running. Connect it, and pass it as cluster")
