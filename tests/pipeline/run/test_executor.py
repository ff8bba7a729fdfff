import pickle
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import ClassVar
from unittest.mock import MagicMock

import pytest
from distributed import KilledWorker

from kernel_pipeline.cluster import Cluster, open_cluster
from kernel_pipeline.cluster.errors import ClusterError, StorageUnreachableError
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.run.executor import AHEAD_PER_THREAD, BATCHES_PER_THREAD, Execution
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.worker import run_batch
from kernel_pipeline.run.worker_pool import WorkerPool
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.benchmarks.driver_cost import accept_workers
from tests.benchmarks.empty_tasks import EmptyFit, empty_plan


@pytest.fixture
def finished() -> TaskReport:
    return TaskReport(
        task="weights/made/regression/align-q1/0-1",
        identity="id",
        digests={"key": "digest"},
        result_json=b'{"trials": {"0": {"certificate": 0.0}, "1": {"certificate": 0.5}}}',
        seconds=0.5,
        peak_memory=1 << 20,
    )


def test_the_scheduler_forgets_finished_tasks(tmp_path: Path) -> None:
    plan = empty_plan(tiles=30, cells=30, datasets=2)
    seen: dict[str, TaskReport] = {}
    known: list[int] = []
    with Interrupt() as interrupt, open_cluster(Profile(jobs=1), tmp_path) as cluster:
        assert cluster.client.cluster is not None
        scheduler = cluster.client.cluster.scheduler

        def record(entries: list[TaskReport]) -> None:
            seen.update({entry.name: entry for entry in entries})
            known.append(len(scheduler.tasks))

        Execution(
            cluster,
            Schedule(plan.tasks, ()),
            RunStore(LocalStorage(tmp_path)),
            record,
            accept_workers,
            interrupt,
            False,
            print,
        ).run()
        kept = set(scheduler.task_prefixes)
    assert seen.keys() == {task.name for task in plan.tasks}
    # Tasks that have just finished may not be forgotten yet.
    assert max(known) <= 3 * (BATCHES_PER_THREAD + AHEAD_PER_THREAD)
    assert kept == {"tiles", "reduce", "weights", "fits"}


def test_a_report_that_is_lost_with_its_worker_does_not_block_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.run.sent_batches.FETCH_TIMEOUT_S", 0.5)
    plan, store = empty_plan(tiles=1, cells=1, datasets=1), RunStore(LocalStorage(tmp_path))
    recorded: list[TaskReport] = []
    with Interrupt() as interrupt, open_cluster(Profile(backend="threads", jobs=1), tmp_path) as cluster:
        assert cluster.client.cluster is not None
        execution = Execution(
            cluster, Schedule(plan.tasks, ()), store, recorded.extend, accept_workers, interrupt, False, print
        )
        execution._submit()
        arrived = execution._sent._ended.get(timeout=10)
        cluster.client.cluster.scale(0)
        cluster.client.sync(lambda: cluster.client.cluster)
        assert not cluster.client.nthreads()
        execution._process([arrived])
        assert not recorded
        cluster.client.cluster.scale(1)
        execution.run()
    assert {entry.name for entry in recorded} == {task.name for task in plan.tasks}


def test_several_suspects_are_retried_concurrently_if_there_are_many_workers(tmp_path: Path) -> None:
    plan, store = empty_plan(tiles=20, cells=1, datasets=1), RunStore(LocalStorage(tmp_path))
    client = MagicMock(**{"map.side_effect": lambda *_, key, **__: [MagicMock(key=each) for each in key]})
    cluster = Cluster(client=client, max_workers=16, dashboard="none")
    with Interrupt() as interrupt:
        execution = Execution(cluster, Schedule(plan.tasks, ()), store, print, accept_workers, interrupt, False, print)
        for _ in range(10):
            batch = execution._schedule.take()
            assert batch
            execution._handle_failure(batch, "task", KilledWorker("task", MagicMock(), 1))
        execution._submit()
        assert len(execution._retries.suspects) == 6
        assert len(execution._suspect_keys) == 4
        execution._submit()
        assert len(execution._retries.suspects) == 6, "no further suspect is sent before one has ended"


def test_a_worker_that_cannot_access_the_run_reports_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def damaged(*_: object) -> None:
        raise DamagedError("gram.zarr is missing")

    tasks = empty_plan(tiles=1, cells=1, datasets=1).tasks[:1]
    monkeypatch.setattr("kernel_pipeline.run.worker.run_tasks", damaged)
    monkeypatch.setattr("kernel_pipeline.run.worker.get_worker", MagicMock(spec=()))
    with pytest.raises(DamagedError, match="is missing"):
        run_batch(tasks, (), (), RunStore(LocalStorage(tmp_path)), "execution", fingerprint())
    with pytest.raises(
        StorageUnreachableError, match=f"cannot access the run: {tmp_path / 'elsewhere'} does not exist on"
    ):
        run_batch(tasks, (), (), RunStore(LocalStorage(tmp_path / "elsewhere")), "execution", fingerprint())


def test_a_failed_request_for_workers_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.run.worker_pool.REFRESH_INTERVAL_S", 0.0)
    monkeypatch.setattr("kernel_pipeline.run.worker_pool.REPLACE_AFTER_S", 0.0)
    asked = MagicMock(side_effect=[ConnectionRefusedError(111, "refused"), None, ClusterError("jobs end at once")])
    client = MagicMock(status="running", **{"nthreads.return_value": {"tcp://a": 1}})
    pool = WorkerPool(
        Cluster(client=client, max_workers=2, dashboard="none", replace_lost=asked), accept_workers, print
    )
    pool.refresh()
    pool.refresh()
    with pytest.raises(ClusterError, match="jobs end at once"):
        pool.refresh()


def test_a_report_is_unchanged_by_pickling(finished: TaskReport) -> None:
    arrived = pickle.loads(pickle.dumps(finished))
    assert arrived == finished
    assert arrived.result == finished.result == {"trials": {"0": {"certificate": 0.0}, "1": {"certificate": 0.5}}}
    assert arrived != replace(finished, seconds=0.6)


@dataclass(frozen=True, kw_only=True)
class SpreadFit(EmptyFit):
    """A fit that needs the memory of at least two workers."""

    may_spread: ClassVar[bool] = True

    def can_spread(self, limits: Mapping[str, int]) -> bool:
        return len(limits) > 1


@pytest.mark.parametrize("workers", [1, 2])
def test_a_task_that_uses_the_memory_of_all_workers_runs_alone(tmp_path: Path, workers: int) -> None:
    tasks = [
        SpreadFit(**{field.name: getattr(task, field.name) for field in fields(task)})
        if isinstance(task, EmptyFit) and task.trial < 2
        else task
        for task in empty_plan(tiles=3, cells=4, datasets=1).tasks
    ]
    client = MagicMock(**{"map.side_effect": lambda *_, key, **__: [MagicMock(key=each) for each in key]})
    cluster = Cluster(client=client, max_workers=2, dashboard="none")
    with Interrupt() as interrupt:
        store = RunStore(LocalStorage(tmp_path))
        done = {task.name for task in tasks if task.stage != "fits"}
        execution = Execution(cluster, Schedule(tasks, done), store, print, accept_workers, interrupt, False, print)
        sent: list[tuple[list[str], bool]] = []

        def submit() -> list[str]:
            before = set(execution._sent.running)
            execution._submit()
            new = [key for key in execution._sent.running if key not in before]
            sent.append(([execution._sent.running[key][0].name for key in new], client.map.call_args.kwargs["spread"]))
            return new

        others = submit()
        assert sent.pop() == ([f"fits/made-0/regression/align-q1/{trial}" for trial in (2, 3)], False)
        execution._submit()
        assert len(execution._sent.running) == 2, "the memory is not known yet, and other tasks are running"
        for key in others:
            del execution._sent.running[key]
        execution._submit()
        assert not execution._sent.running
        assert not execution._is_done()
        execution._pool.limits = dict.fromkeys("ab"[:workers], 100)
        (first,) = submit()
        assert sent.pop() == (["fits/made-0/regression/align-q1/0"], workers == 2)
        execution._submit()
        assert list(execution._sent.running) == [first]
        del execution._sent.running[first]
        submit()
        assert sent.pop() == (["fits/made-0/regression/align-q1/1"], workers == 2)


def test_a_task_that_cannot_use_the_memory_of_all_workers_is_sent_with_others(tmp_path: Path) -> None:
    made = [task for task in empty_plan(tiles=1, cells=2, datasets=1).tasks if isinstance(task, EmptyFit)]
    tasks = [SpreadFit(**{field.name: getattr(task, field.name) for field in fields(task)}) for task in made]
    client = MagicMock(**{"map.side_effect": lambda *_, key, **__: [MagicMock(key=each) for each in key]})
    with Interrupt() as interrupt:
        execution = Execution(
            Cluster(client=client, max_workers=1, dashboard="none"),
            Schedule(tasks, ()),
            RunStore(LocalStorage(tmp_path)),
            print,
            accept_workers,
            interrupt,
            False,
            print,
        )
        execution._pool.limits = {"a": 100}
        execution._submit()
        assert len(execution._sent.running) == 2
        assert not client.map.call_args.kwargs["spread"]
