import pickle
from pathlib import Path

import pytest

from cluster import open_cluster
from cluster.profile import Profile
from pipeline.execution import WAITING_A_THREAD, Execution
from pipeline.interrupt import Interrupt
from pipeline.schedule import Schedule
from pipeline.storage.local_root import LocalRoot
from pipeline.store import RunStore
from pipeline.task import Finished
from tests.benchmarks.driver_cost import no_welcome
from tests.benchmarks.empty_tasks import empty_plan


@pytest.fixture
def finished() -> Finished:
    trials = {"0": {"certificate": 0.0}, "1": {"certificate": 0.5}}
    return Finished("weights/made/regression/align/0-1", "id", {"key": "digest"}, {"trials": trials}, 0.5, 1 << 20)


def test_the_scheduler_keeps_nothing_of_tasks_that_are_done(tmp_path: Path) -> None:
    plan = empty_plan(tiles=30, cells=30, datasets=2)
    seen: dict[str, Finished] = {}
    known: list[int] = []
    with Interrupt() as interrupt, open_cluster(Profile(jobs=1), tmp_path) as cluster:
        assert cluster.client.cluster is not None
        scheduler = cluster.client.cluster.scheduler

        def record(entries: list[Finished]) -> None:
            seen.update({entry.name: entry for entry in entries})
            known.append(len(scheduler.tasks))

        Execution(
            cluster, Schedule(plan, ()), RunStore(LocalRoot(tmp_path)), record, no_welcome, interrupt, False, print
        ).run()
        kept = set(scheduler.task_prefixes)
    assert seen.keys() == {task.name for task in plan.tasks}
    assert max(known) <= 2 * WAITING_A_THREAD  # those just done may not be forgotten yet
    assert kept == {"tiles", "reduce", "weights", "fits"}


def test_what_comes_from_a_worker_is_the_same(finished: Finished) -> None:
    arrived = pickle.loads(pickle.dumps(finished))
    assert arrived == finished
    assert arrived.result == finished.result == {"trials": {"0": {"certificate": 0.0}, "1": {"certificate": 0.5}}}
    assert arrived != Finished(**finished.values() | {"seconds": 0.6})
