"""Tasks that fill the memory of workers, which Dask then pauses: the run continues and reports tasks it gave up."""

import resource
from pathlib import Path

import pandas as pd
import pytest

from tests.faults.harness import write_config
from tests.faults.inject import ALWAYS, TASK, Fault, FaultyRun, assert_undisturbed

pytestmark = [pytest.mark.faults, pytest.mark.slow]

MEMORY = 1 << 30
# Dask reads this limit as the memory of the machine; Linux itself does not enforce it.
LIMITS = {resource.RLIMIT_RSS: MEMORY}
NAME = "fits/wave/regression/unif/1"
RUN = ("run", "tiny.toml", "--workers", "1", "--out", "run")
TIMEOUT_S = 180


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


def hog(times: int) -> Fault:
    """Return a fault that uses enough memory for Dask to pause a worker, but not enough to kill it."""
    return Fault(TASK, "hog", of=NAME, times=times, size=int(0.78 * MEMORY), seconds=600.0)


def test_a_worker_that_stays_paused_is_restarted(folder: Path, undisturbed: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[hog(1)], limits=LIMITS) as run:
        done = run.end(TIMEOUT_S)
    assert done.returncode == 0, done.stderr
    assert "worker 0 is paused: it uses" in done.stdout
    assert "of its 1 GiB; it is restarted, and its tasks are retried" in done.stdout
    assert_undisturbed(folder / "run", undisturbed)


def test_task_that_always_fills_the_memory_is_given_up(folder: Path, undisturbed: Path) -> None:
    with FaultyRun(*RUN, cwd=folder, faults=[hog(ALWAYS)], limits=LIMITS) as run:
        done = run.end(TIMEOUT_S)
    assert done.returncode == 3, done.stderr
    assert run.calls() == 3
    rows = [pd.read_csv(root / "results/rows.csv", dtype=str) for root in (folder / "run", undisturbed)]
    failed = (rows[1]["dataset"] == "wave") & (rows[1]["method"] == "unif") & (rows[1]["trial"] == "1")
    (status,) = rows[0]["status"][failed]
    assert status.startswith("failed: it needs more memory than a worker has: the last of 3 workers to run it used ")
    pd.testing.assert_frame_equal(rows[0][~failed], rows[1][~failed])
