"""A request to stop is acknowledged at once and takes bounded time, whatever the run waits for."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from kernel_pipeline.cluster import Cluster
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.worker_pool import WorkerPool
from tests.benchmarks.driver_cost import accept_workers
from tests.faults.harness import finished_names, wait_until, write_config
from tests.faults.inject import TASK, Fault, FaultyRun

pytestmark = pytest.mark.faults

RUN = ("run", "tiny.toml", "--workers", "2", "--out", "run")
HELD = Fault(TASK, "wait", of="fits/wave", times=2, seconds=600.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


@pytest.fixture
def scheduler(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A scheduler in a separate process, with one worker and the scheduler file `s.json`."""
    file = folder / "s.json"
    parts = [
        ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
        ("worker", "--nthreads", "1", "--no-dashboard", "--host", "127.0.0.1"),
    ]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.dask_{kind}", "--scheduler-file", str(file), *options],
            cwd=folder,
            stderr=subprocess.DEVNULL,
        )
        for kind, *options in parts
    ]
    yield started[0]
    for process in started:
        process.kill()
        process.wait()


def test_first_signal_is_acknowledged_by_the_handler() -> None:
    said: list[str] = []
    with Interrupt(said.append, end_process=pytest.fail) as interrupt:
        os.kill(os.getpid(), signal.SIGTERM)
        assert said == [
            "Stopping: running tasks have at most 30 s to finish. A second Ctrl-C or SIGTERM stops the run immediately."
        ]
        assert interrupt.requested


def test_use_as_a_library_keeps_the_sigterm_handler_of_the_program() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    with Interrupt():
        assert signal.getsignal(signal.SIGTERM) is before[0]
        assert signal.getsignal(signal.SIGINT) is not before[1]
    assert (signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)) == before


def test_running_tasks_are_reported_and_abandoned_after_the_grace_period(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    now = [1000.0]
    monkeypatch.setattr("kernel_pipeline.run.interrupt.time", MagicMock(monotonic=lambda: now[0]))
    with Interrupt(said.append) as interrupt:
        interrupt._handle(signal.SIGINT, None)
        for _ in range(30):
            assert not interrupt.count_down(2)
            now[0] += 1
        assert interrupt.count_down(1)
    assert said[1:] == [
        "2 tasks are still running; at most 30 s left",
        "2 tasks are still running; at most 20 s left",
        "2 tasks are still running; at most 10 s left",
        "1 task did not finish within 30 s and is abandoned; the same command resumes the run",
    ]


def test_unresponsive_scheduler_is_reported_without_blocking(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.run.worker_pool.ANSWER_TIMEOUT_S", 0.02)
    monkeypatch.setattr("kernel_pipeline.run.worker_pool.FROZEN_AFTER_S", 0.1)
    thaw, said = threading.Event(), list[str]()
    client = MagicMock(status="running", nthreads=lambda: thaw.wait(60) and {"tcp://a": 1})
    pool = WorkerPool(Cluster(client=client, max_workers=1, dashboard=""), accept_workers, said.append)

    def reported() -> bool:
        pool.refresh()
        return bool(said)

    assert wait_until(reported, 10)
    assert said[0].startswith("the scheduler has not answered for 0 s: its process is stopped")
    thaw.set()

    def is_back() -> bool:
        pool.refresh()
        return pool.present == 1

    assert wait_until(is_back, 10)
    assert len(said) == 1


def test_second_signal_stops_the_run_within_seconds(folder: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[HELD]) as run:
        assert wait_until(lambda: run.calls() == 2, 60)
        os.killpg(run.process.pid, signal.SIGTERM)
        time.sleep(1.5)  # signals in quick succession count as one request
        begin = time.monotonic()
        os.killpg(run.process.pid, signal.SIGTERM)
        stopped = run.end(30)
        seconds = time.monotonic() - begin
    assert stopped.returncode == 130
    assert "Stopped. The same command resumes the run." in stopped.stderr
    assert "2 tasks are still running; at most 30 s left" in stopped.stdout
    assert seconds < 10, "expected 5 s, with a margin for a busy machine"


@pytest.mark.slow
def test_tasks_that_do_not_finish_are_abandoned(folder: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[HELD]) as run:
        assert wait_until(lambda: run.calls() == 2, 60)
        os.kill(run.process.pid, signal.SIGTERM)
        stopped = run.end(60)
    assert stopped.returncode == 130, stopped.stderr
    assert stopped.stdout.count("2 tasks are still running; at most") == 3
    assert "2 tasks did not finish within 30 s and are abandoned" in stopped.stdout
    assert "of 31 tasks are left. `pipeline resume run`, or the same command, resumes the run" in stopped.stderr
    assert not any(name.startswith("fits/wave") for name in finished_names(folder / "run"))
    assert not (folder / "run/lock").exists()


@pytest.mark.slow
def test_a_frozen_scheduler_is_reported_and_the_run_can_be_stopped(
    folder: Path, scheduler: subprocess.Popen[bytes]
) -> None:
    assert wait_until((folder / "s.json").exists, 30)
    address = json.loads((folder / "s.json").read_text())["address"]
    output = folder / "output.txt"
    with FaultyRun("run", "tiny.toml", "--cluster", address, "--out", "run", cwd=folder) as run:
        collector = threading.Thread(target=lambda: output.write_text(run.process.stdout.read()))  # type: ignore[union-attr]
        assert wait_until(lambda: len(finished_names(folder / "run")) > 3, 60)
        scheduler.send_signal(signal.SIGSTOP)
        time.sleep(45)
        run.process.send_signal(signal.SIGINT)
        time.sleep(2)
        run.process.send_signal(signal.SIGINT)
        collector.start()
        run.process.wait(15)
        collector.join()
    said = output.read_text()
    assert "the scheduler has not answered for 3" in said
    assert "Stopping: running tasks have at most 30 s to finish" in said
    assert run.process.returncode == 130
