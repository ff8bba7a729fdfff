"""The dependencies that Dask receives while a sweep of two datasets runs on threads."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.cluster import Cluster, open_cluster
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.run.executor import Execution
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.benchmarks.driver_cost import accept_workers
from tests.helpers.sweeps import plan_in, smaller_config

ALIGNF = "weights/wave/regression/alignf/0-2"


@contextmanager
def watched(cluster: Cluster) -> Iterator[dict[str, set[str]]]:
    """Collect the dependencies of all tasks that the scheduler knows, by key, until the end of the block."""
    assert cluster.client.cluster is not None
    known: dict[str, Any] = cluster.client.cluster.scheduler.tasks
    seen: dict[str, set[str]] = {}
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.005):
            for key, task in list(known.items()):
                seen.setdefault(key, set()).update(str(other.key) for other in list(task.dependencies))

    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        yield seen
    finally:
        ended.set()
        watcher.join()


def execute(
    root: Path, plan: Plan, after_each: Callable[[list[str]], None] = lambda _: None
) -> tuple[list[str], dict[str, set[str]]]:
    """Run a plan on two threads; return the names of tasks as they finish, and the dependencies in the scheduler."""
    finished: list[str] = []

    def record(entries: list[TaskReport]) -> None:
        finished.extend(entry.name for entry in entries)
        after_each(finished)

    with (
        Interrupt() as interrupt,
        open_cluster(Profile(backend="threads", jobs=2), root) as cluster,
        watched(cluster) as seen,
    ):
        Execution(
            cluster,
            Schedule(plan.tasks, ()),
            RunStore(LocalStorage(root)),
            record,
            accept_workers,
            interrupt,
            False,
            print,
        ).run()
    return finished, seen


def slow_down(monkeypatch: pytest.MonkeyPatch, kind: type[Task], name: str, until: threading.Event | None) -> None:
    """Delay a task by a moment, or until an event is set."""
    run = kind.run_together.__func__  # type: ignore[attr-defined]

    def slow(cls: type[Task], tasks: list[Task], store: RunStore) -> Any:
        if any(name in task.name for task in tasks):
            if until is None:
                time.sleep(0.3)
            else:
                assert until.wait(60)
        return run(cls, tasks, store)

    monkeypatch.setattr(kind, "run_together", classmethod(slow))


def test_the_scheduler_knows_the_dependencies_of_a_fit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_in(tmp_path, smaller_config())[0]
    slow_down(monkeypatch, CombineTask, "combine/wave", None)
    finished, seen = execute(tmp_path, plan)
    assert set(finished) == {task.name for task in plan.tasks}
    for trial in range(3):
        ((fit, needed),) = ((key, needs) for key, needs in seen.items() if f"/wave/regression/alignf/{trial}/" in key)
        assert fit.startswith("fits-1/")
        assert {key.rpartition("/")[0] for key in needed} == {"combine-1/combine/wave/regression/unif/0+1"}
    reduce = next(needs for key, needs in seen.items() if key.startswith("reduce-1/reduce/wave"))
    assert {key.partition("-")[0] for key in reduce} == {"tiles"}


def test_fits_of_other_methods_finish_before_slow_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = plan_in(tmp_path, smaller_config())[0]
    others = {task.name for task in plan.tasks if task.stage == "fits" and "/wave/regression/alignf/" not in task.name}
    released = threading.Event()
    slow_down(monkeypatch, WeightsTask, ALIGNF, released)

    def release(finished: list[str]) -> None:
        if others <= set(finished):
            released.set()

    order, _ = execute(tmp_path, plan, release)
    assert set(order) == {task.name for task in plan.tasks}
    assert all(order.index(name) < order.index(ALIGNF) for name in others)
