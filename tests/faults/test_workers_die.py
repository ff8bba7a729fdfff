"""Workers that are killed or hang, and tasks that fail: the run continues and reports what it gave up."""

import os
import random
import signal
import time
from pathlib import Path

import pandas as pd
import pytest

from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.stages.weights import MAX_KERNELS_ALL_TRIALS
from tests.faults.harness import TINY, assert_same, finished_names, lines, wait_until, write_config
from tests.faults.inject import ALWAYS, TASK, Fault, FaultyRun, assert_undisturbed, run_with
from tests.helpers.sweeps import pipeline

pytestmark = pytest.mark.faults

# The ledger has lines of the sweep and of two datasets, then those of 31 tasks and of the tables.
LINES_BEFORE_TASKS, TASKS = 3, 31
MANY_KERNELS = {
    "rows": 24,
    "kernels": [{"family": "gaussian", "log2_gamma": [-500, MAX_KERNELS_ALL_TRIALS - 500]}],
}
# Slows tasks down, so that workers are killed while they execute one.
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.08)
RUN = ("run", "tiny.toml", "--workers", "2", "--out")


# Each seed kills workers in one tenth of the run; FAULT_SEEDS=10 covers all of them.
SEEDS = range(0, 10, round(10 / int(os.environ.get("FAULT_SEEDS", "2"))))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


def rows(root: Path) -> pd.DataFrame:
    """Return the result rows as strings."""
    return pd.read_csv(root / "results/rows.csv", dtype=str, keep_default_na=False)


@pytest.mark.parametrize("seed", SEEDS)
def test_run_survives_workers_that_are_killed_at_any_time(folder: Path, undisturbed: Path, seed: int) -> None:
    moment, root = random.Random(seed), folder / "run"
    tenth = range(seed * TASKS // 10, (seed + 1) * TASKS // 10)
    killed_at = LINES_BEFORE_TASKS + min(moment.choice(tenth), TASKS - 5)  # so that the run has not ended by then
    with FaultyRun(*RUN, root, cwd=folder, faults=[SLOWER]) as run:
        assert wait_until(lambda: len(run.workers()) == 2 and len(finished_names(root)) >= killed_at, 90)
        time.sleep(moment.uniform(0, SLOWER.seconds))
        before = lines(root)
        workers = run.workers()
        doomed = workers if seed % 5 == 4 else moment.sample(workers, 1)
        for worker in doomed:
            worker.send_signal(signal.SIGKILL)
        done = run.end()
    assert done.returncode == 0, done.stderr
    assert doomed
    assert sum(before.values()) < LINES_BEFORE_TASKS + TASKS
    assert_undisturbed(root, undisturbed)


@pytest.mark.parametrize("seed", SEEDS)
def test_run_survives_a_worker_that_dies_in_each_stage(folder: Path, undisturbed: Path, seed: int) -> None:
    moment = random.Random(seed)
    tasks = [name for name in sorted(lines(undisturbed)) if name.partition("/")[0] in STAGES]
    chosen = [moment.choice([name for name in tasks if name.startswith(f"{stage}/")]) for stage in STAGES]
    faults = [
        Fault(TASK, moment.choice(("kill", "exit")), of=name, after=moment.random() < 0.5)  # in its first attempt only
        for name in chosen
    ]
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=faults)
    assert done.returncode == 0, done.stderr
    assert all(run.calls(number) >= 2 for number in range(len(faults)))
    assert_undisturbed(folder / "run", undisturbed)


def test_a_worker_that_hangs_is_replaced(folder: Path, undisturbed: Path) -> None:
    run, done = run_with(
        *(*RUN, folder / "run"),
        cwd=folder,
        faults=[Fault(TASK, "stop", of="fits/wave/regression/alignf/1")],
        environment={"DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "3s"},
    )
    assert done.returncode == 0, done.stderr
    assert run.calls() == 2
    assert_undisturbed(folder / "run", undisturbed)


def test_task_that_always_kills_its_worker_is_given_up_and_the_rest_completes(folder: Path, undisturbed: Path) -> None:
    root, name = folder / "run", "fits/wave/regression/unif/1"
    deadly = Fault(TASK, "kill", of=name, times=ALWAYS)
    run, done = run_with(*RUN, root, cwd=folder, faults=[deadly])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 3
    found, expected = rows(root), rows(undisturbed)
    failed = (expected["dataset"] == "wave") & (expected["method"] == "unif") & (expected["trial"] == "1")
    assert failed.sum() == 1
    assert found["status"][failed].item() == "failed: its worker died 3 times: it was killed, or ran out of memory"
    pd.testing.assert_frame_equal(found[~failed], expected[~failed])
    assert lines(root) == lines(undisturbed)

    again, done = run_with(*RUN, root, cwd=folder, faults=[deadly])
    assert done.returncode == 3, done.stderr
    assert again.calls() == 3  # those of the first run
    assert "dashboard" not in done.stdout  # no worker was started
    assert lines(root) == lines(undisturbed)

    done = pipeline(*RUN, root, "--retry-failed", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)
    twice = {name, "tables"}
    assert lines(root) == {entry: 2 if entry in twice else 1 for entry in finished_names(undisturbed)}


def test_with_many_kernels_a_solve_that_kills_its_worker_fails_only_its_trial(tmp_path: Path) -> None:
    write_config(tmp_path, TINY | {"methods": ["unif", "align"], "dataset": [TINY["dataset"][0] | MANY_KERNELS]})
    deadly = Fault(TASK, "kill", of="weights/wave/regression/align/1-1", times=ALWAYS)
    run, done = run_with(*RUN, tmp_path / "run", cwd=tmp_path, faults=[deadly])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 3
    found = rows(tmp_path / "run").set_index(["method", "trial"])["status"]
    assert found.pop(("align", "1")) == (
        "weights/wave/regression/align/1-1: failed: its worker died 3 times: it was killed, or ran out of memory"
    )
    assert set(found) == {"ok"}
    assert set(found.index) == {("align", "0"), ("align", "2"), *(("unif", trial) for trial in "012")}


@pytest.mark.slow
def test_many_tasks_that_kill_their_workers_do_not_fail_others(folder: Path, undisturbed: Path) -> None:
    root = folder / "run"
    deadly = Fault(TASK, "kill", of="fits/wave/regression/l2-krr", times=ALWAYS)
    run, done = run_with(*RUN, root, cwd=folder, faults=[deadly])
    assert done.returncode == 3, done.stderr
    found, expected = rows(root), rows(undisturbed)
    failed = (expected["dataset"] == "wave") & (expected["method"] == "l2-krr")
    assert failed.sum() == 3
    assert found["status"][failed].str.startswith("failed: its worker died 3 times").all()
    pd.testing.assert_frame_equal(found[~failed], expected[~failed])
    assert run.calls() <= 9  # tasks queued on a killed worker count as lost, too
    assert lines(root) == lines(undisturbed)


def test_task_with_two_io_errors_succeeds_in_its_third_attempt(folder: Path, undisturbed: Path) -> None:
    fault = Fault(TASK, "raise", of="weights/wave/regression/alignf", times=2, error="EIO")
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=[fault])
    assert done.returncode == 0, done.stderr
    assert run.calls() == 3
    assert_undisturbed(folder / "run", undisturbed)


@pytest.mark.slow
def test_task_with_permanent_io_errors_is_given_up_after_three_attempts(folder: Path, undisturbed: Path) -> None:
    fault = Fault(TASK, "raise", of="weights/wave/regression/alignf", times=ALWAYS, error="EIO")
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=[fault])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 3
    found, expected = rows(folder / "run"), rows(undisturbed)
    failed = (expected["dataset"] == "wave") & (expected["method"] == "alignf")
    assert failed.sum() == 3
    assert found["status"][failed].str.contains("failed: OSError: [Errno 5]", regex=False).all()
    pd.testing.assert_frame_equal(found[~failed], expected[~failed])


@pytest.mark.parametrize("name", ["tiles/wave/0", "reduce/wave/regression"])
def test_failure_of_a_dataset_does_not_affect_the_other(folder: Path, undisturbed: Path, name: str) -> None:
    fault = Fault(TASK, "raise", of=name, times=ALWAYS, error="ValueError")
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=[fault])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 1  # such errors are not retried
    found, expected = rows(folder / "run"), rows(undisturbed)
    failed = expected["dataset"] == name.split("/")[1]
    assert (found["status"][failed] == f"{name}: failed: ValueError: injected").all()
    pd.testing.assert_frame_equal(found[~failed], expected[~failed])


def test_fits_of_columns_do_not_need_their_statistics(folder: Path, undisturbed: Path) -> None:
    fault = Fault(TASK, "raise", of="reduce/columns/regression", times=ALWAYS, error="ValueError")
    _, done = run_with(*RUN, folder / "run", cwd=folder, faults=[fault])
    assert done.returncode == 3, done.stderr
    pd.testing.assert_frame_equal(rows(folder / "run"), rows(undisturbed))


def test_failed_task_does_not_fail_the_others_of_its_batch(folder: Path, undisturbed: Path) -> None:
    fault = Fault(TASK, "raise", of="combine/wave/regression/unif/0", times=ALWAYS, error="ValueError")
    run, done = run_with(*RUN, folder / "run", cwd=folder, faults=[fault])
    assert done.returncode == 3, done.stderr
    assert run.calls() == 2  # once in a batch with the other method, once alone
    found, expected = rows(folder / "run"), rows(undisturbed)
    failed = (expected["dataset"] == "wave") & (expected["method"] == "unif")
    assert failed.sum() == 3
    assert found["status"][failed].str.endswith("failed: ValueError: injected").all()
    pd.testing.assert_frame_equal(found[~failed], expected[~failed])


@pytest.mark.slow
def test_failed_fits_of_single_kernels_are_reported_and_change_no_row(folder: Path, undisturbed: Path) -> None:
    root = folder / "run"
    fault = Fault(TASK, "raise", of="each-kernel", times=ALWAYS, error="ValueError")
    run, done = run_with(*RUN, root, cwd=folder, faults=[fault])
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == 3, done.stdout  # some requested results are missing
    assert run.calls() == 3
    pd.testing.assert_frame_equal(rows(root), rows(undisturbed))
    done = pipeline("resume", root, "--retry-failed", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)


def test_fail_fast_stops_at_the_first_failure_and_the_run_can_be_resumed(folder: Path, undisturbed: Path) -> None:
    root = folder / "run"
    fault = Fault(TASK, "raise", of="tiles/wave", times=ALWAYS, error="ValueError")
    _, done = run_with(*RUN, root, "--fail-fast", cwd=folder, faults=[fault, SLOWER])
    assert done.returncode == 3, done.stderr
    assert "stopped at the first failure, tiles/wave/0: failed: ValueError: injected" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (root / "results").exists()
    before = finished_names(root)
    fits = {name for name in finished_names(undisturbed) if name.startswith("fits/columns")}
    assert not fits <= before  # the fits of `columns` did not depend on the failure
    done = pipeline("resume", root, "--retry-failed", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)
    assert lines(root) == {name: 2 if name.startswith("tiles/wave") else 1 for name in finished_names(undisturbed)}
