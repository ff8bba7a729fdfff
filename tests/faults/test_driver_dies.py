"""The driver is killed, at every boundary that a run has: its workers vanish, and the next command goes on."""

import signal
from pathlib import Path

import pytest

from tests.faults.harness import done_by, lines, wait_until, write_config
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
# The sweep and the data of two datasets.
LINES_BEFORE_TASKS = 3
# A worker at work, from which nothing calls it away but the end of the driver.
AT_WORK = 600.0


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
                Fault(CHUNK, "kill the driver", of="gram.zarr", first=3, seconds=AT_WORK),
                Fault(TRIALS, "kill the driver", of="weights.zarr wave/regression/alignf", seconds=AT_WORK),
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
                Fault(FLUSH, "kill", process="driver", first=2),  # within the second file of all, environment.json
                Fault(FILE, "kill", of="results/rows.parquet", process="driver", after=True),
                Fault(FLUSH, "kill", process="driver", first=3),  # within the third table
                Fault(LEDGER, "tear", of="tables", process="driver"),
                Fault(LEDGER, "kill", of="tables", process="driver", after=True),
            ],
            id="at a file",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_run_whose_driver_is_killed_time_after_time_goes_on(
    folder: Path, undisturbed: Path, faults: list[Fault]
) -> None:
    root = folder / "run"
    for number, fault in enumerate(faults):
        before = done_by(root)
        # `resume` and the same command go on alike, once anything was begun
        command = RESUME if number % 2 and before else RUN
        run, done = run_with(*command, cwd=folder, faults=[fault], notes=folder / str(number))
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert run.calls() >= fault.first
        assert before <= done_by(root)
        assert before | done_by(root) == set() or set(lines(root).values()) <= {1}
    _, done = run_with(*RUN, cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_undisturbed(root, undisturbed)


@pytest.mark.slow
def test_a_run_that_gets_a_few_lines_further_each_time_ends(folder: Path, undisturbed: Path) -> None:
    root, further = folder / "run", 6
    attempts, known, code = 0, 0, -signal.SIGKILL
    slower = Fault(TASK, "sleep", times=ALWAYS, seconds=0.1)

    def is_time() -> bool:
        return run.process.poll() is not None or len(done_by(root)) >= known + further

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
