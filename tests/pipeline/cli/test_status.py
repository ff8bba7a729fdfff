"""The status of a run, read from its directory only: what is left and why."""

import io
import json
import math
import time
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from kernel_pipeline.cli.status import print_status
from kernel_pipeline.plan.estimates import task_times
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.text import format_seconds
from tests.helpers.build import listing
from tests.helpers.sweeps import fail, forget, note

WEIGHTS = "weights/wave/regression/alignf/0-2"
ALL = "tiles 2 of 2, reduce 2 of 2, weights 6 of 6, combine 6 of 6, fits 18 of 18"


@pytest.fixture(autouse=True)
def no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    """Show no times: on a busy machine, even a small run may take long enough for them to be shown."""
    monkeypatch.setattr("kernel_pipeline.cli.status.MIN_SHOWN_S", math.inf)


def lines(root: Path) -> list[str]:
    """Return the lines printed before the summary, and check that nothing is written."""
    before, said = listing(root), io.StringIO()
    print_status(Console(file=said, width=200), LocalStorage(root))
    assert listing(root) == before
    return said.getvalue().partition("\n\n")[0].splitlines()


def resume_advice(root: Path) -> str:
    return f"`pipeline resume {root}` resumes the run; finished tasks are not repeated."


def test_a_finished_run_has_nothing_left(root: Path) -> None:
    assert lines(root) == [f"small: 34 of 34 tasks are done: {ALL}."]


def test_tasks_that_have_not_run_are_left(root: Path) -> None:
    forget(root, "fits/wave/regression/unif/1", "combine/flowers/regression/unif/0", "tables")
    shown = ALL.replace("combine 6", "combine 5").replace("fits 18", "fits 17")
    assert lines(root) == [
        f"small: 32 of 34 tasks are done: {shown}.",
        "2 are left: 2 not run yet.",
        resume_advice(root),
    ]


def test_damaged_tasks_are_left_and_their_files_named(root: Path) -> None:
    key = "weights.zarr/wave/regression/alignf/c/1/0"
    (root / key).unlink()
    forget(root, "fits/wave/regression/unif/1")
    first, left, *rest = lines(root)
    assert first.startswith("small: 32 of 34 tasks are done")
    assert left == "2 are left: 1 not run yet, 1 damaged."
    assert rest == [f"{key} is missing", resume_advice(root)]


def test_outdated_tasks_are_left(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(FitTask, "version", FitTask.version + 1)
    forget(root, "fits/wave/regression/unif/1")
    reasons = "1 not run yet, 17 outdated by a change of config, data or algorithm"
    assert lines(root)[1:] == [f"18 are left: {reasons}.", resume_advice(root)]


def test_failed_tasks_are_named_with_their_reason_and_not_left(root: Path, plan: Plan) -> None:
    dependents = fail(root, plan, WEIGHTS, "it was [too] hot")
    shown = ALL.replace("weights 6", "weights 5").replace("combine 6", "combine 5").replace("fits 18", "fits 15")
    reasons = dict.fromkeys(dependents, f"{WEIGHTS}: failed: it was [too] hot")
    assert len(reasons) == 1 + 3
    first, advice, *named = lines(root)
    assert first == f"small: 29 of 34 tasks are done: {shown}."
    assert advice == f"5 failed; `pipeline resume {root} --retry-failed` retries them:"
    reasons[WEIGHTS] = "failed: it was [too] hot"
    assert sorted(named) == sorted(f"  {name}: {why}" for name, why in reasons.items())


def test_outdated_dependents_of_a_failed_task_are_not_left(root: Path, plan: Plan) -> None:
    before = Ledger(LocalStorage(root)).read().tasks
    dependents = fail(root, plan, "tiles/wave/0", "it was too hot")
    note(root, *(replace(before[name], identity="of another config") for name in dependents))
    forget(root, "fits/flowers/regression/unif/0")
    assert lines(root)[1] == "1 is left: 1 not run yet."


def test_status_is_shown_despite_a_damaged_table(root: Path) -> None:
    (root / "results/rows.csv").write_bytes(b"")
    assert lines(root)[0] == f"small: 34 of 34 tasks are done: {ALL}."


def test_resuming_a_run_that_is_being_executed_is_not_suggested(root: Path) -> None:
    forget(root, "fits/wave/regression/unif/1")
    (root / "lock").write_text(json.dumps({"host": "another", "pid": 7, "since": "noon"}))
    assert lines(root)[1:] == [
        "1 is left: 1 not run yet.",
        "The run is being executed by process 7 on another, since noon.",
    ]


def slower(root: Path, seconds: float) -> None:
    """Set the time of each finished task to this value."""
    reports = Ledger(LocalStorage(root)).read().tasks
    note(root, *(replace(report, seconds=seconds) for report in reports.values()))


def test_the_remaining_time_follows_from_the_finished_tasks(
    root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernel_pipeline.cli.status.MIN_SHOWN_S", 10.0)
    missing = ["fits/wave/regression/unif/1", "fits/wave/regression/unif/2"]
    slower(root, 100.0)
    forget(root, *missing, "tables")
    times = task_times(plan)
    fits = [task.name for task in plan.tasks if task.stage == "fits" and task.name not in missing]
    ratio = 100.0 * len(fits) / sum(times[name].seconds for name in fits)
    seconds = ratio * sum(times[name].seconds for name in missing)
    assert lines(root)[2] == f"The remaining time is about {format_seconds(seconds)} with 1 worker."
    (root / "progress.json").write_text('{"workers": 2}')
    assert lines(root)[2] == f"The remaining time is about {format_seconds(seconds / 2)} with 2 workers."


def progress_file(root: Path, *batches: tuple[list[str], float, str], workers: int = 1) -> None:
    running = [{"tasks": tasks, "seconds": seconds, "progress": text} for tasks, seconds, text in batches]
    content = {"workers": workers, "running": running, "written": time.time()}
    (root / "progress.json").write_text(json.dumps(content))


def executed(root: Path, *missing: str) -> None:
    """Make tasks pending, and let another process hold the lock."""
    forget(root, *missing, "tables")
    (root / "lock").write_text(json.dumps({"host": "another", "pid": 7, "since": "noon"}))


def test_running_tasks_are_shown_with_their_progress(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.time", lambda: 5000.0)
    first, second, third = (f"fits/wave/regression/unif/{trial}" for trial in range(3))
    executed(root, first, second)
    progress_file(root, ([first], 600.0, "23 passes, [9] of 16 ridges done"), ([second], 75.0, ""), ([third], 9.0, ""))
    assert lines(root)[2:5] == [
        "2 tasks are running:",
        f"  {first} for 10 min: 23 passes, [9] of 16 ridges done",
        f"  {second} for 75 s",
    ], "the third one is finished"
    progress_file(root, ([first], 600.0, "\x1b[2J"), (["fits/another/0"], 1.0, "foreign"))
    assert lines(root)[2:4] == ["1 task is running:", f"  {first} for 10 min: \\x1b[2J"]
    (root / "lock").unlink()
    assert lines(root)[2:] == [resume_advice(root)], "nothing runs without a driver"


def test_the_remaining_time_is_reduced_by_the_time_of_running_tasks(
    root: Path, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    wall = [5000.0]
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.time", lambda: wall[0])
    monkeypatch.setattr("kernel_pipeline.cli.status.MIN_SHOWN_S", 10.0)
    missing = ["fits/wave/regression/unif/1", "fits/wave/regression/unif/2"]
    slower(root, 1000.0)
    executed(root, *missing)
    times = task_times(plan)
    fits = [task.name for task in plan.tasks if task.stage == "fits" and task.name not in missing]
    ratio = 1000.0 * len(fits) / sum(times[name].seconds for name in fits)
    first, second = (ratio * times[name].seconds for name in missing)
    progress_file(root, (missing[:1], 100.0, ""))
    assert lines(root)[2] == f"The remaining time is about {format_seconds(first + second - 100.0)} with 1 worker."
    wall[0] += 40.0
    assert lines(root)[2] == f"The remaining time is about {format_seconds(first + second - 140.0)} with 1 worker."
    wall[0] -= 40.0
    progress_file(root, (missing[:1], 50_000.0, ""))
    assert lines(root)[2] == f"The remaining time is about {format_seconds(5000.0 + second)} with 1 worker."


@pytest.mark.parametrize("content", ["", "[]", "{", '{"running": [null]}', '{"running": 7, "written": null}'])
def test_a_damaged_progress_file_is_ignored(root: Path, content: str) -> None:
    executed(root, "fits/wave/regression/unif/1")
    (root / "progress.json").write_text(content)
    assert lines(root)[1:] == [
        "1 is left: 1 not run yet.",
        "The run is being executed by process 7 on another, since noon.",
    ]


def test_a_long_run_that_is_finished_compares_its_time_with_the_estimate(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slower(root, 2.0)
    monkeypatch.setattr("kernel_pipeline.cli.status.MIN_SHOWN_S", 10.0)
    monkeypatch.setattr("kernel_pipeline.plan.calibration.SECONDS_PER_RATE", 0.0)
    line = lines(root)[1]
    assert line.startswith("Estimated ")
    assert "; measured time: 68 s (estimated and measured by stage: tiles " in line
    assert line.endswith(", 36 s).")


def test_status_before_the_data_are_stored(root: Path, plan: Plan) -> None:
    forget(root, "data/wave", "tables", *(task.name for task in plan.tasks))
    assert lines(root) == ["small: the data of the run are not stored yet", resume_advice(root)]
