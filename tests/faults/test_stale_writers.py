"""Tasks that outlive their driver and write later: the next run has correct tables, or is refused."""

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed import Client

from tests.components.servers import Servers
from tests.faults.harness import assert_same, command, finished_names, no_workers, tables, wait_until, write_config
from tests.faults.inject import faulty
from tests.faults.stale import CHANGED, FAULTS, TILES, Scene, end, stop_at_once

pytestmark = [pytest.mark.faults, pytest.mark.slow]

SEEDS = int(os.environ.get("FAULT_SEEDS", "2"))
# About the time that a driver needs from its start to its tables.
LONGEST_DELAY = 10.0
SECONDS_TO_WRITE = 3.0


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the changed config in a directory of its own."""
    folder = tmp_path_factory.mktemp("fresh")
    with no_workers():
        done = command("run", write_config(folder, CHANGED), "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Servers]:
    """A scheduler that keeps running, with a worker."""
    with Servers(tmp_path / "servers", environment=faulty(FAULTS, tmp_path / "notes")) as servers:
        servers.start_scheduler()
        servers.start_worker("worker", "--nthreads", "3")  # with fewer threads, new tasks would wait for the held one
        servers.wait_for_workers(1)
        yield servers


@pytest.fixture
def scene(servers: Servers, tmp_path: Path) -> Scene:
    return Scene(tmp_path, servers.address, tmp_path / "notes")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_task_of_a_driver_that_has_ended_writes_nothing_for_the_next_one(
    scene: Scene, fresh: Path, number: signal.Signals
) -> None:
    stop_at_once(scene.hold(), number)
    driver = scene.accept_changes()
    assert wait_until(lambda: TILES in finished_names(scene.root), 60)
    scene.release()
    done = end(driver)
    assert done.returncode == 0, done.stderr
    assert "differs from the ledger" not in done.stdout, "the stale task wrote its chunk, and only a reader noticed"
    assert_same(scene.root, fresh)


@pytest.mark.parametrize("seed", range(SEEDS))
def test_stale_write_at_any_time_gives_correct_tables_or_a_refusal(scene: Scene, fresh: Path, seed: int) -> None:
    chosen = random.Random(seed)
    stop_at_once(scene.hold(), chosen.choice([signal.SIGINT, signal.SIGTERM, signal.SIGKILL]))
    driver = scene.accept_changes()
    time.sleep(chosen.uniform(0.0, LONGEST_DELAY))
    scene.release()
    done = end(driver)
    assert done.returncode in (0, 4), done.stderr
    if done.returncode == 0:
        assert tables(scene.root) == tables(fresh)
    time.sleep(SECONDS_TO_WRITE)
    if done.returncode or command("verify", scene.root).exit_code:
        with no_workers():
            assert command("resume", scene.root, "--verify", "full").exit_code == 0
    assert_same(scene.root, fresh)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_driver_that_ends_leaves_no_task_on_a_scheduler_that_keeps_running(
    scene: Scene, servers: Servers, number: signal.Signals
) -> None:
    stop_at_once(scene.hold(), number)
    with Client(servers.address) as client:
        assert client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks)) == []
    before = scene.started()
    scene.release()
    time.sleep(SECONDS_TO_WRITE)
    assert scene.started() == before
    assert not list((scene.root / "gram.zarr/wave/gram/c").rglob("*")), "the stale task wrote without the lock"


def test_driver_that_lost_the_lock_stops_and_writes_nothing(scene: Scene, fresh: Path) -> None:
    first = scene.hold()
    refused = end(scene.accept_changes())
    assert refused.returncode == 4, refused.stderr
    assert "is in use by process" in refused.stderr
    (scene.root / "lock").unlink()  # a user error
    second = scene.accept_changes()
    assert wait_until(lambda: TILES in finished_names(scene.root), 60)
    scene.release()
    superseded, done = end(first), end(second)
    assert superseded.returncode == 4, superseded.stderr
    assert "was taken over by process" in superseded.stderr
    assert "Traceback" not in superseded.stderr
    assert done.returncode == 0, done.stderr
    assert_same(scene.root, fresh)
