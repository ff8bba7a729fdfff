"""Measure the cost of encryption in a local run: start-up and empty tasks, with and without TLS in turn."""

import argparse
import logging
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from unittest.mock import patch

import dask
from distributed import Client, LocalCluster

from kernel_pipeline.cluster import Cluster, open_cluster, warm_up
from kernel_pipeline.cluster.local import START_METHOD
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD, own_settings
from tests.benchmarks.driver_cost import measure_driver


@contextmanager
def open_plain(profile: Profile, _logs: Path) -> Iterator[Cluster]:
    """Start workers and a client whose connections are not encrypted."""
    count, memory = profile.implementation.worker_limits()
    settings = own_settings(profile) | {"distributed.worker.multiprocessing-method": START_METHOD}
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            memory_limit=memory,
            host="127.0.0.1",
            dashboard_address=LOOPBACK_DASHBOARD,
            silence_logs=logging.CRITICAL,
        ) as started,
        Client(started) as client,
    ):
        yield Cluster(client=client, max_workers=count, dashboard="none")


OPEN: dict[str, Callable[[Profile, Path], AbstractContextManager[Cluster]]] = {
    "unencrypted": open_plain,
    "TLS": open_cluster,
}


def start_up(kind: str, workers: int) -> float:
    """Return the seconds until all workers are connected; the process from which they are forked runs already."""
    begin = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, OPEN[kind](Profile(jobs=workers), Path(folder)) as cluster:
        cluster.client.wait_for_workers(workers)
        return time.perf_counter() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    warm_up(Profile(), ("tests.benchmarks.empty_tasks",))
    starts: dict[str, list[float]] = {kind: [] for kind in OPEN}
    walls: dict[str, list[float]] = {kind: [] for kind in OPEN}
    cpus: dict[str, list[float]] = {kind: [] for kind in OPEN}
    for repeat in range(arguments.repeats + 1):
        for kind in list(OPEN)[:: 1 if repeat % 2 else -1]:
            seconds = start_up(kind, arguments.workers)
            with patch("tests.benchmarks.driver_cost.open_cluster", OPEN[kind]):
                cost = measure_driver(arguments.tasks // 2, arguments.tasks // 2, 1, arguments.workers)
            if repeat:  # the first round imports modules
                starts[kind].append(seconds)
                walls[kind].append(1e3 * cost.seconds / cost.tasks)
                cpus[kind].append(1e3 * cost.cpu_per_task)
    for name, unit, values in (("start-up", "s", starts), ("task, wall", "ms", walls), ("task, CPU", "ms", cpus)):
        plain, tls = (min(values[kind]) for kind in OPEN)
        differences = [one - other for one, other in zip(values["TLS"], values["unencrypted"], strict=True)]
        print(
            f"{name}: minimum {plain:.3f} {unit} unencrypted, {tls:.3f} {unit} with TLS "
            f"({100 * (tls / plain - 1):+.1f} %); the median difference of a pair is "
            f"{statistics.median(differences):+.3f} {unit}, from {min(differences):+.3f} to {max(differences):+.3f}"
        )


if __name__ == "__main__":
    main()
