"""A driver that is killed at any boundary of a run: its workers end, and the next command resumes the run."""

import signal
from pathlib import Path

import pytest

from tests.faults.harness import finished_names, lines, wait_until, write_config
from tests.faults.inject import (
    ALWAYS,
    CHUNK,
    FILE,
    FLUSH,
    LEDGER,
    TASK,
    TRIALS,
    Fault,
    FaultyRun,
    assert_undisturbed,
    run_with,
)

pytestmark = pytest.mark.faults

RUN = ("run", "tiny.toml", "--workers", "2", "--out", "run")
RESUME = ("resume", "run", "--workers", "2")
# Seconds for which a worker stays busy, unless the driver ends.
BUSY_S = 600.0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


def in_ledger(nth: int, fault: Fault) -> Fault:
    return Fault(LEDGER, fault.do, process="driver", first=nth, after=fault.after)


BEFORE, TORN, AFTER = Fault(LEDGER, "kill"), Fault(LEDGER, "tear"), Fault(LEDGER, "kill", after=True)


@pytest.mark.parametrize(
    "faults",
    [
        pytest.param(
            [
                Fault(CHUNK, "kill the driver", of="gram.zarr", first=3, seconds=BUSY_S),
                Fault(TRIALS, "kill the driver", of="weights.zarr wave/regression/alignf", seconds=BUSY_S),
                Fault(CHUNK, "kill the driver", of="combined.zarr", first=4, after=True),
            ],
            id="at a chunk",
        ),
        *(
            pytest.param([in_ledger(nth, fault) for nth in (1, 3, 9)], id=name, marks=marks)
            for fault, name, marks in (
                (BEFORE, "before a line", [pytest.mark.slow]),
                (TORN, "within a line", []),
                (AFTER, "after a line", [pytest.mark.slow]),
            )
        ),
        pytest.param(
            [
                Fault(FLUSH, "kill", process="driver", first=2),  # during the second file, environment.json
                Fault(FILE, "kill", of="results/rows.parquet", process="driver", after=True),
                Fault(FLUSH, "kill", process="driver", first=3),  # during the third table
                Fault(LEDGER, "tear", of="tables", process="driver"),
                Fault(LEDGER, "kill", of="tables", process="driver", after=True),
            ],
            id="at a file",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_run_whose_driver_is_killed_repeatedly_is_completed(
    folder: Path, undisturbed: Path, faults: list[Fault]
) -> None:
    root = folder / "run"
    for number, fault in enumerate(faults):
        before = finished_names(root)
        # once a run has started, `resume` and `run` are equivalent
        command = RESUME if number % 2 and before else RUN
        run, done = run_with(*command, cwd=folder, faults=[fault], notes=folder / str(number))
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert run.calls() >= fault.first
        assert before <= finished_names(root)
        assert before | finished_names(root) == set() or set(lines(root).values()) <= {1}
    _, done = run_with(*RUN, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_undisturbed(root, undisturbed)


@pytest.mark.slow
def test_run_that_is_killed_every_few_lines_is_completed(folder: Path, undisturbed: Path) -> None:
    root, further = folder / "run", 6
    attempts, known, code = 0, 0, -signal.SIGKILL
    slower = Fault(TASK, "sleep", times=ALWAYS, seconds=0.1)

    def is_time() -> bool:
        return run.process.poll() is not None or len(finished_names(root)) >= known + further

    while code == -signal.SIGKILL:
        attempts += 1
        with FaultyRun(*RUN, cwd=folder, faults=[slower], notes=folder / str(attempts)) as run:
            assert wait_until(is_time, 60)
            run.process.kill()  # does nothing to a process that has ended
            code = run.end().returncode
        assert set(lines(root).values()) == {1}
        assert len(lines(root)) >= known + further or code == 0
        known = len(lines(root))
    assert code == 0
    assert 3 < attempts <= known // further + 1
    assert_undisturbed(root, undisturbed)
