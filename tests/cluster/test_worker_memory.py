"""Use of the memory of all workers from a task on one of them, on a cluster of processes."""

import os
import signal
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from distributed import Client

from kernel_pipeline.cluster import open_cluster
from kernel_pipeline.cluster.errors import ClusterError, LostWorkersError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.cluster.worker_memory import worker_memory


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    with open_cluster(Profile(jobs=2), tmp_path_factory.mktemp("logs")) as cluster:
        cluster.client.wait_for_workers(2)
        yield cluster.client


def wait_until_forgotten(client: Client) -> None:
    """Wait until no results of functions are left in the memory of the workers."""
    end = time.monotonic() + 20
    while any(client.has_what().values()):
        assert time.monotonic() < end, client.has_what()
        time.sleep(0.1)


def squared(values: Any) -> Any:
    return values**2


def die(path: str) -> int:
    """Kill the worker of the first call."""
    if not Path(path).exists():
        Path(path).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def use(versions: str) -> tuple[list[Any], list[str]]:
    with worker_memory(versions, (), lambda: None) as memory:
        sent = memory.send(np.arange(4.0))
        first = [memory.submit(squared, sent, at=address) for address in memory.limits()]
        (found,) = memory.fetch([memory.submit(squared, first[0])])
        assert memory.own_address in memory.limits()
        return [found, *memory.fetch(first)], list(memory.limits())


def test_functions_run_on_all_workers_and_leave_no_results(client: Client) -> None:
    found, workers = client.submit(use, fingerprint(), pure=False).result()
    assert len(workers) == 2
    np.testing.assert_array_equal(found[0], np.arange(4.0) ** 4)
    np.testing.assert_array_equal(found[2], np.arange(4.0) ** 2)
    wait_until_forgotten(client)


def test_a_worker_with_other_versions_is_refused(client: Client) -> None:
    with pytest.raises(ClusterError, match="versions differ"):
        client.submit(use, "other", pure=False).result()
    wait_until_forgotten(client)


def lose_a_worker(versions: str, path: str) -> tuple[str, int]:
    with worker_memory(versions, (), lambda: None) as memory:
        (other,) = set(memory.limits()) - {memory.own_address}
        held = memory.submit(squared, 3, at=other)
        memory.wait([held])
        message = ""
        try:
            memory.fetch([memory.submit(die, path, at=other)])
        except LostWorkersError as error:
            message = str(error)
        return message, memory.fetch([held])[0]  # computed again


def test_a_worker_that_dies_is_reported_and_its_results_are_computed_again(client: Client, tmp_path: Path) -> None:
    message, held = client.submit(lose_a_worker, fingerprint(), str(tmp_path / "died"), pure=False).result()
    assert "died" in message
    assert held == 9
    client.wait_for_workers(2)


def hold(versions: str, folder: str) -> tuple[float, float]:
    """Use the memory until a file exists."""
    with worker_memory(versions, (), lambda: None):
        begin = time.time()
        (Path(folder) / "held").touch()
        while not (Path(folder) / "go").exists():
            time.sleep(0.05)
        time.sleep(0.2)
        return begin, time.time()


def stop() -> None:
    raise InterruptedError


def wait_until_stopped(versions: str) -> None:
    with worker_memory(versions, (), stop):
        pass


def test_one_task_at_a_time_uses_the_memory(client: Client, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    spans = client.gather([client.submit(hold, fingerprint(), str(tmp_path), pure=False) for _ in range(3)])
    assert all(end <= begin for (_, end), (begin, _) in pairwise(sorted(spans)))


def test_a_task_that_waits_for_the_memory_can_be_stopped(client: Client, tmp_path: Path) -> None:
    holder = client.submit(hold, fingerprint(), str(tmp_path), pure=False)
    while not (tmp_path / "held").exists():
        time.sleep(0.05)
    with pytest.raises(InterruptedError):
        client.submit(wait_until_stopped, fingerprint(), pure=False).result()
    (tmp_path / "go").touch()
    assert holder.result()
