"""Ctrl-C and the warning of a batch system: one signal stops in order, two stop at once, and the run can be resumed."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.harness import finished_names, lines, wait_until, write_config
from tests.faults.inject import TASK, Fault, FaultyRun, assert_undisturbed, run_with

pytestmark = pytest.mark.faults

RUN = ("run", "tiny.toml", "--workers", "2", "--out", "run")
LONG_TASK_S = 600.0
# Both workers wait in a task, with more tasks queued.
HELD = Fault(TASK, "wait", of="fits/wave", times=2, seconds=LONG_TASK_S)
STARTED = Fault(TASK, "sleep", times=0)  # only counted
STOP_RECEIVED = Fault("kernel_pipeline.run.worker:stop_starting_tasks", "sleep", times=0)
FAULTS = [HELD, STARTED, STOP_RECEIVED]
WARNINGS = [
    pytest.param(signal.SIGINT, True, id="Ctrl-C"),
    pytest.param(signal.SIGTERM, True, id="SIGTERM to all"),
    pytest.param(signal.SIGTERM, False, id="SIGTERM to the driver"),
]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


def warn(run: FaultyRun, number: signal.Signals, all_processes: bool) -> None:
    (os.killpg if all_processes else os.kill)(run.process.pid, number)


def assert_can_be_resumed(folder: Path, undisturbed: Path, stopped: subprocess.CompletedProcess[str]) -> None:
    """Check that the run stopped with a clear message and that the next command completes it."""
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert not (folder / "run/lock").exists()
    before = lines(folder / "run")
    _, done = run_with("resume", "run", "--workers", "2", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_undisturbed(folder / "run", undisturbed)
    assert set(before.values()) == {1}


@pytest.mark.parametrize(("number", "all_processes"), WARNINGS)
def test_first_signal_finishes_running_tasks_and_starts_no_more(
    folder: Path, undisturbed: Path, number: signal.Signals, all_processes: bool
) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=FAULTS) as run:
        assert wait_until(lambda: run.calls(FAULTS.index(HELD)) == 2, 60)
        before, started = finished_names(folder / "run"), run.calls(FAULTS.index(STARTED))
        warn(run, number, all_processes)
        assert wait_until(lambda: run.calls(FAULTS.index(STOP_RECEIVED)) == 2, 30)
        run.release()
        stopped = run.end()
    assert "`pipeline resume run`" in stopped.stderr
    assert "Stopping: running tasks have at most 30 s to finish" in stopped.stdout
    assert run.calls(FAULTS.index(STARTED)) == started
    after = finished_names(folder / "run")
    assert before < after
    assert sum(name.startswith("fits/wave") for name in after) == 2
    left = len(finished_names(undisturbed)) - len(after) - 1  # the tables are not a task
    assert f"{left} of 31 tasks are left" in stopped.stderr
    assert not (folder / "run/results").exists()
    assert_can_be_resumed(folder, undisturbed, stopped)


def test_second_signal_stops_the_run_at_once(folder: Path, undisturbed: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=FAULTS) as run:
        assert wait_until(lambda: run.calls(FAULTS.index(HELD)) == 2, 60)
        warn(run, signal.SIGINT, all_processes=True)
        assert wait_until(lambda: run.calls(FAULTS.index(STOP_RECEIVED)) == 2, 30)
        assert run.process.poll() is None
        begin = time.monotonic()
        warn(run, signal.SIGINT, all_processes=True)
        stopped = run.end()
        seconds = time.monotonic() - begin
    assert seconds < 30
    assert "Stopped. The same command resumes the run." in stopped.stderr
    assert not any(name.startswith("fits/wave") for name in finished_names(folder / "run"))
    assert_can_be_resumed(folder, undisturbed, stopped)


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        # the process from which workers are forked still imports modules
        pytest.param(
            signal.SIGINT, Fault("kernel_pipeline.store.arrays:", "wait", seconds=LONG_TASK_S), id="Ctrl-C early"
        ),
        pytest.param(
            signal.SIGTERM, Fault("kernel_pipeline.store.arrays:", "wait", seconds=LONG_TASK_S), id="SIGTERM early"
        ),
        pytest.param(
            *(
                signal.SIGINT,
                Fault(
                    "kernel_pipeline.cluster.local:Local.open_workers", "wait", process="driver", seconds=LONG_TASK_S
                ),
            ),
            id="Ctrl-C late",
        ),
    ],
)
def test_signal_before_workers_start_stops_the_run_with_a_clear_message(
    folder: Path, undisturbed: Path, number: signal.Signals, fault: Fault
) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[fault]) as run:
        assert wait_until(run.waits, 30)
        warn(run, number, all_processes=True)
        run.release()
        stopped = run.end()
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr, stopped.stderr
    assert "resumes the run" in stopped.stderr
    assert not any(name.startswith(("tiles", "reduce")) for name in finished_names(folder / "run"))
    assert not (folder / "run/lock").exists()
    _, done = run_with(*RUN, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_undisturbed(folder / "run", undisturbed)
