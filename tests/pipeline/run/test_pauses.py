"""Workers that Dask has paused are reported with their memory, and restarted if they stay paused."""

from typing import Any
from unittest.mock import MagicMock

import pytest

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.run import pauses
from kernel_pipeline.run.pauses import Pauses
from kernel_pipeline.run.worker import end_process
from tests.faults.harness import wait_until

NAME = "tls://127.0.0.1:1"


class Clock:
    """A replacement for the module `time`, whose clock the tests set."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    found = Clock()
    monkeypatch.setattr(pauses, "time", found)
    return found


def worker(status: str = "paused", executing: int = 1, nanny: str | None = "tls://127.0.0.1:2") -> dict[str, Any]:
    metrics = {"memory": 9 << 29, "task_counts": {"executing": executing}}
    return {"name": 0, "status": status, "memory_limit": 5 << 30, "nanny": nanny, "metrics": metrics}


def refreshed(
    clock: Clock, seconds: int, info: dict[str, Any], is_external: bool = False
) -> tuple[Pauses, list[str], MagicMock]:
    """Refresh the state of a cluster of one worker every second."""
    said: list[str] = []
    client = MagicMock()
    watched = Pauses(Cluster(client=client, max_workers=1, dashboard="", is_external=is_external), said.append)
    for _ in range(seconds):
        watched.refresh({NAME: info})
        clock.now += 1
    return watched, said, client


def test_short_pauses_are_ignored(clock: Clock) -> None:
    watched, said, client = refreshed(clock, 2, worker())
    watched.refresh({NAME: worker("running")})
    clock.now += 60
    watched.refresh({NAME: worker()})
    assert said == []
    assert not client.run.called


def test_a_long_pause_is_reported_with_its_memory_and_so_is_its_end(clock: Clock) -> None:
    watched, said, _ = refreshed(clock, 9, worker())
    watched.refresh({NAME: worker("running")})
    assert said == [
        "worker 0 is paused: it uses 4.5 GiB of its 5 GiB, and starts no task until it uses less memory",
        "worker 0 is running again",
    ]


@pytest.mark.parametrize(("executing", "seconds"), [(0, 10), (1, 20)])
def test_a_worker_that_does_not_recover_is_restarted(clock: Clock, executing: int, seconds: int) -> None:
    *_, client = refreshed(clock, seconds, worker(executing=executing))
    assert not client.run.called
    watched, said, client = refreshed(clock, seconds + 1, worker(executing=executing))
    assert wait_until(lambda: client.run.called, 10)
    assert client.run.call_args.args == (end_process,)
    assert client.run.call_args.kwargs["workers"] == [NAME]
    assert said[-1] == "worker 0 still uses 4.5 GiB of its 5 GiB; it is restarted, and its tasks are retried"
    assert watched.restarted == {NAME: "4.5 GiB of its 5 GiB"}


@pytest.mark.parametrize(("is_external", "nanny"), [(True, "tls://127.0.0.1:2"), (False, None)])
def test_a_run_that_cannot_restart_its_workers_ends_when_all_are_paused(
    clock: Clock, is_external: bool, nanny: str | None
) -> None:
    with pytest.raises(ClusterError, match=r"all workers \(1\) have been paused for 60 s.*4\.5 GiB of its 5 GiB"):
        refreshed(clock, 65, worker(nanny=nanny), is_external)
    assert clock.now > 150
