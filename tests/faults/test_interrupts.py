"""Ctrl-C and the warning of a batch system: once stops in order, twice stops at once, and the run can go on."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.faults.harness import done_by, lines, wait_until, write_config
from tests.faults.inject import TASK, Fault, FaultyRun, assert_undisturbed, run_with

pytestmark = pytest.mark.faults

RUN = ("run", "tiny.toml", "--workers", "2", "--out", "run")
A_LONG_TASK = 600.0
# Both workers are held in a task, with more that waits for them.
HELD = Fault(TASK, "wait", of="fits/wave", times=2, seconds=A_LONG_TASK)
BEGUN = Fault(TASK, "sleep", times=0)  # only counted
TOLD = Fault("kernel_pipeline.run.worker:stop_starting_tasks", "sleep", times=0)
FAULTS = [HELD, BEGUN, TOLD]
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


def assert_goes_on(folder: Path, undisturbed: Path, stopped: subprocess.CompletedProcess[str]) -> None:
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
def test_a_run_that_is_told_to_stop_finishes_what_is_in_flight_and_begins_no_more(
    folder: Path, undisturbed: Path, number: signal.Signals, all_processes: bool
) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=FAULTS) as run:
        assert wait_until(lambda: run.calls(FAULTS.index(HELD)) == 2, 60)
        before, begun = done_by(folder / "run"), run.calls(FAULTS.index(BEGUN))
        warn(run, number, all_processes)
        assert wait_until(lambda: run.calls(FAULTS.index(TOLD)) == 2, 30)
        run.let_go()
        stopped = run.end()
    assert "`pipeline resume run`" in stopped.stderr
    assert "Stopping: running tasks have at most 30 s to finish" in stopped.stdout
    assert run.calls(FAULTS.index(BEGUN)) == begun
    after = done_by(folder / "run")
    assert before < after
    assert sum(name.startswith("fits/wave") for name in after) == 2
    left = len(done_by(undisturbed)) - len(after) - 1  # the tables are no task
    assert f"{left} of 31 tasks are left" in stopped.stderr
    assert not (folder / "run/results").exists()
    assert_goes_on(folder, undisturbed, stopped)


def test_a_run_that_is_told_twice_stops_at_once(folder: Path, undisturbed: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=FAULTS) as run:
        assert wait_until(lambda: run.calls(FAULTS.index(HELD)) == 2, 60)
        warn(run, signal.SIGINT, all_processes=True)
        assert wait_until(lambda: run.calls(FAULTS.index(TOLD)) == 2, 30)
        assert run.process.poll() is None
        begin = time.monotonic()
        warn(run, signal.SIGINT, all_processes=True)
        stopped = run.end()
        seconds = time.monotonic() - begin
    assert seconds < 30
    assert "Stopped. The same command resumes the run." in stopped.stderr
    assert not any(name.startswith("fits/wave") for name in done_by(folder / "run"))
    assert_goes_on(folder, undisturbed, stopped)


@pytest.mark.parametrize(
    ("number", "fault"),
    [
        # the process that workers are forked from still imports
        pytest.param(
            signal.SIGINT, Fault("kernel_pipeline.store.arrays:", "wait", seconds=A_LONG_TASK), id="Ctrl-C early"
        ),
        pytest.param(
            signal.SIGTERM, Fault("kernel_pipeline.store.arrays:", "wait", seconds=A_LONG_TASK), id="SIGTERM early"
        ),
        pytest.param(
            *(
                signal.SIGINT,
                Fault(
                    "kernel_pipeline.cluster.local:Local.open_workers", "wait", process="driver", seconds=A_LONG_TASK
                ),
            ),
            id="Ctrl-C late",
        ),
    ],
)
def test_a_run_that_is_told_to_stop_before_it_has_workers_stops_with_a_clear_message(
    folder: Path, undisturbed: Path, number: signal.Signals, fault: Fault
) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[fault]) as run:
        assert wait_until(run.waits, 30)
        warn(run, number, all_processes=True)
        run.let_go()
        stopped = run.end()
    assert stopped.returncode == 130, stopped.stderr
    assert "Traceback" not in stopped.stderr, stopped.stderr
    assert "resumes the run" in stopped.stderr
    assert not any(name.startswith(("tiles", "reduce")) for name in done_by(folder / "run"))
    assert not (folder / "run/lock").exists()
    _, done = run_with(*RUN, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_undisturbed(folder / "run", undisturbed)
