"""A local cluster that is stopped at once kills its workers only."""

import multiprocessing
import time

import psutil
import pytest

from kernel_pipeline.cluster.private_cluster import PrivateCluster


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_that_the_user_has_started_are_not_killed(method: str) -> None:
    other = multiprocessing.get_context(method).Process(target=time.sleep, args=(60,))  # type: ignore[attr-defined]
    other.start()
    try:
        with PrivateCluster(n_workers=1, threads_per_worker=1, dashboard_address=None, host="127.0.0.1") as cluster:
            (worker,) = cluster.workers.values()
            process = psutil.Process(worker.process.pid)
            cluster.stop_at_once()
            process.wait(10)
        assert other.is_alive()
    finally:
        other.kill()
        other.join()
