"""Tasks that outlive their driver and write later: the new run's tables are right, or it refuses; never a wrong number."""

import copy
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.components.servers import Servers
from tests.faults.harness import TINY, assert_same, command, done_by, lines, no_workers, wait_until, write_config
from tests.faults.inject import ALWAYS, CHUNK, TASK, Fault, faulty
from tests.run.sweeps import start

pytestmark = [pytest.mark.faults, pytest.mark.slow]

SEEDS = int(os.environ.get("FAULT_SEEDS", "2"))
HELD = Fault(CHUNK, "wait", of="gram.zarr wave/gram", seconds=120.0)
# So that the held task can write while others are still to read what it writes.
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.3)
TILES = "tiles/wave/0"
CHANGED = copy.deepcopy(TINY)
CHANGED["dataset"][0]["kernels"] = [{"family": "gaussian", "log2_gamma": [-5, -2]}]


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the changed config in a directory of its own."""
    folder = tmp_path_factory.mktemp("fresh")
    with no_workers():
        done = command("run", write_config(folder, CHANGED), "--out", folder / "run")
    assert done.exit_code == 0, done.output
    return folder / "run"


class Scene:
    """A scheduler that keeps running with two workers, one of which holds a task of a driver that has ended."""

    def __init__(self, folder: Path, servers: Servers) -> None:
        self.folder, self.servers, self.root = folder, servers, folder / "run"
        self.notes = folder / "notes"

    def run(self, *options: str) -> subprocess.Popen[str]:
        return start("run", "tiny.toml", "--cluster", self.servers.address, "--out", "run", *options, cwd=self.folder)

    def hold(self) -> subprocess.Popen[str]:
        """Start a driver, and wait until one of its tasks is about to write."""
        write_config(self.folder)
        driver = self.run()
        assert wait_until((self.notes / "waiting").exists, 60)
        return driver

    def let_go(self) -> None:
        (self.notes / "go").touch()

    def accept_changes(self) -> subprocess.Popen[str]:
        """Start another driver in the same directory, with another config."""
        write_config(self.folder, CHANGED)
        return self.run("--accept-changes")


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with Servers(tmp_path / "servers", environment=faulty([HELD, SLOWER], tmp_path / "notes")) as servers:
        servers.start_scheduler()
        servers.start_worker("worker", "--nthreads", "3")  # else new tasks would wait for the held one
        servers.wait_for_workers(1)
        yield Scene(tmp_path, servers)


def end(process: subprocess.Popen[str], seconds: float = 120) -> subprocess.CompletedProcess[str]:
    output, errors = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def stop_at_once(driver: subprocess.Popen[str]) -> None:
    """Ctrl-C, twice."""
    driver.send_signal(signal.SIGINT)
    time.sleep(1.5)
    driver.send_signal(signal.SIGINT)
    assert end(driver).returncode == 130


def assert_right(scene: Scene, done: subprocess.CompletedProcess[str], fresh: Path) -> None:
    """The tables of a fresh run, and nothing that `verify` finds; or what it finds is repaired to just that."""
    assert done.returncode == 0, done.stderr
    assert wait_until(lambda: "started" not in held_tasks(scene), 30)
    found = command("verify", scene.root)
    if found.exit_code:
        with no_workers():
            assert command("verify", scene.root, "--repair").exit_code == 0
    assert_same(scene.root, fresh)


def held_tasks(scene: Scene) -> str:
    return ""


def test_a_task_of_a_driver_that_was_stopped_writes_nothing_for_the_next_one(scene: Scene, fresh: Path) -> None:
    stop_at_once(scene.hold())
    driver = scene.accept_changes()
    assert wait_until(lambda: TILES in done_by(scene.root), 60)
    scene.let_go()
    done = end(driver)
    assert done.returncode == 0, done.stderr
    assert_same(scene.root, fresh)
