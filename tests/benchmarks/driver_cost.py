"""Measure the time per task and the memory of the driver's process, which contains the scheduler."""

import os
import tempfile
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from kernel_pipeline.cluster import open_cluster, warm_up
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.events import Emitter
from kernel_pipeline.run.driver import Options, Run
from kernel_pipeline.run.executor import Execution
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.peak_memory import measured_peak
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from tests.benchmarks.empty_tasks import empty_plan

SAMPLING_INTERVAL_S = 0.05
PAGE = os.sysconf("SC_PAGE_SIZE")
# Parts of the work of the driver's own thread; the time of an inner part is not included in that of the outer one.
PARTS = {
    "submit": (Execution, "_submit"),
    "process": (Execution, "_process"),
    "ledger lines": (Ledger, "append"),
    "ledger fsync": (os, "fsync"),
}


@dataclass
class DriverCost:
    """Cost of one run of empty tasks."""

    tasks: int
    workers: int
    seconds: float = 0.0
    cpu: float = 0.0
    """CPU seconds of all threads of the process; they run one at a time, since they share an interpreter."""
    loop_cpu: float = 0.0
    """The part of `cpu` that the event loop uses, for the scheduler and for messages of the client."""
    wall: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    """Seconds of the driver's thread in each part, including waits for the event loop."""
    own_cpu: dict[str, float] = field(default_factory=lambda: dict.fromkeys(PARTS, 0.0))
    """CPU seconds of the driver's thread in each part."""
    appends: int = 0
    peak: int = 0
    """Peak memory of the process in bytes, including the writing of tables."""
    growth: list[tuple[int, int]] = field(default_factory=list)
    """Pairs of finished tasks and resident bytes during the run."""
    max_known: int = 0
    """Largest observed number of tasks in the scheduler."""

    @property
    def cpu_per_task(self) -> float:
        """CPU seconds per task; the process cannot handle tasks at a higher rate than one in this time."""
        return self.cpu / self.tasks

    @property
    def seconds_per_sync(self) -> float:
        """Seconds per sync of the ledger; all entries that arrive meanwhile share the next sync."""
        return self.wall["ledger fsync"] / self.appends


def measure_driver(tiles: int, cells: int, datasets: int, workers: int | None) -> DriverCost:
    """Run empty tasks through the real execution, cluster, ledger and tables."""
    warm_up(Profile(), ("tests.benchmarks.empty_tasks",))
    with tempfile.TemporaryDirectory() as folder, measured_peak() as peak:
        root = Path(folder)
        plan = empty_plan(tiles, cells, datasets)
        ledger = Ledger(LocalStorage(root))
        run = Run(LocalStorage(root), plan, _no_samples, ledger, Options(), Emitter())
        with Interrupt() as interrupt, open_cluster(Profile(jobs=workers), root) as cluster:
            cost = DriverCost(len(plan.tasks), cluster.max_workers)
            execution = Execution(
                cluster,
                Schedule(plan.tasks, ()),
                RunStore(LocalStorage(root)),
                run.record,
                accept_workers,
                interrupt,
                False,
                print,
                run.inputs_of,
            )
            local = cluster.client.cluster
            assert local is not None
            with _sampled(cost, lambda: (len(run.finished.tasks), len(local.scheduler.tasks))), _timed(cost):
                execution.run()
        if interrupt.requested:
            raise KeyboardInterrupt  # an incomplete run is not a measurement
        run.tables()  # in this process, since its memory is measured
        ledger.close()
    cost.peak = peak[0]
    return cost


def accept_workers(_workers: Collection[str]) -> None:
    """Accept all workers, since those that are forked from this process need no check."""


def _no_samples(name: str) -> PreparedDataset:
    raise AssertionError(f"empty tasks need no samples of {name}")


@contextmanager
def _timed(cost: DriverCost) -> Iterator[None]:
    """Measure the time of each part of this thread, and that of the event loop."""
    running: list[str] = []

    def timed(part: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any) -> Any:
            begin, own = time.perf_counter(), time.thread_time()
            running.append(part)
            try:
                return function(*arguments)
            finally:
                running.pop()
                wall, own = time.perf_counter() - begin, time.thread_time() - own
                cost.wall[part] += wall
                cost.own_cpu[part] += own
                if running:
                    cost.wall[running[-1]] -= wall
                    cost.own_cpu[running[-1]] -= own
                cost.appends += part == "ledger lines"

        return wrapped

    (loop,) = (thread for thread in threading.enumerate() if "IO loop" in thread.name and thread.ident)
    loop_clock = time.pthread_getcpuclockid(loop.ident or 0)
    patches = [patch.object(owner, name, timed(part, getattr(owner, name))) for part, (owner, name) in PARTS.items()]
    for each in patches:
        each.start()
    begin, cpu, loop_cpu = time.perf_counter(), time.process_time(), time.clock_gettime(loop_clock)
    try:
        yield
    finally:
        cost.seconds = time.perf_counter() - begin
        cost.cpu, cost.loop_cpu = time.process_time() - cpu, time.clock_gettime(loop_clock) - loop_cpu
        for each in patches:
            each.stop()


@contextmanager
def _sampled(cost: DriverCost, observe: Callable[[], tuple[int, int]]) -> Iterator[None]:
    """Sample the memory, the number of finished tasks and the number of tasks in the scheduler."""
    ended = threading.Event()

    def sample() -> None:
        while not ended.wait(SAMPLING_INTERVAL_S):
            finished, known = observe()
            cost.growth.append((finished, int(Path("/proc/self/statm").read_text().split()[1]) * PAGE))
            cost.max_known = max(cost.max_known, known)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield
    finally:
        ended.set()
        sampler.join()
