"""A client that the caller has connected is used as it is, and left open."""

from types import SimpleNamespace
from typing import Any

import pytest
from distributed import Client, LocalCluster

from kernel_pipeline.cluster.client import client_limits, memory_per_task, use_client
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD


def test_each_thread_of_a_worker_has_its_share_of_the_memory() -> None:
    workers = [{"nthreads": 1, "memory_limit": 600}, {"nthreads": 4, "memory_limit": 2000}]
    workers += [{"nthreads": 2, "memory_limit": 0}] * 5  # without a limit

    def scheduler_info(n_workers: int) -> dict[str, Any]:
        assert n_workers == -1  # by default some versions of Dask list only five
        return {"workers": dict(enumerate(workers))}

    client: Any = SimpleNamespace(scheduler_info=scheduler_info, asynchronous=False, status="running")
    assert memory_per_task(client) == (15, 500)
    assert client_limits(client) == (15, 400), "Dask pauses a worker at 80 % of its memory"


def test_a_client_is_used_and_left_open() -> None:
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, memory_limit=0, dashboard_address=LOOPBACK_DASHBOARD
        ) as made,
        Client(made) as client,
    ):
        assert client_limits(client) == (2, None)
        with use_client(client) as cluster:
            assert cluster.client is client
            assert (cluster.max_workers, cluster.is_external, cluster.pending_reason) == (2, True, None)
            cluster.replace_lost()
        assert client.submit(int, "7").result() == 7
        assert len(client.nthreads()) == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"asynchronous": True}, r"asynchronous.*Client\('tcp://host:1'\)"), ({"status": "closed"}, "is closed, not")],
)
def test_a_client_that_a_run_cannot_use_is_rejected(changes: dict[str, Any], message: str) -> None:
    values = {"asynchronous": False, "status": "running", "scheduler": SimpleNamespace(address="tcp://host:1")}
    client: Any = SimpleNamespace(**(values | changes))
    for use in (client_limits, lambda used: use_client(used).__enter__()):
        with pytest.raises(ClusterError, match=message):
            use(client)
