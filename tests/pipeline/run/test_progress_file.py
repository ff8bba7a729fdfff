"""Scripts can read the progress of a run from `progress.json` while it is executed."""

import json
import time
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pipeline.events import ClusterOpened, RunningBatch, TaskFinished, TasksRunning, TasksStarted, TasksStopped
from kernel_pipeline.run.foreign_files import foreign_files
from kernel_pipeline.run.progress_file import MAX_AGE_S, WRITE_INTERVAL_S, ProgressFile, last_workers, running_batches
from kernel_pipeline.store.local_storage import LocalStorage

STARTED = TasksStarted({"tiles": 2, "fits": 3, "weights": 0}, {"tiles": 1})


def content(root: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((root / "progress.json").read_text())
    return found


def test_the_file_has_stages_and_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.time", lambda: 5000.0)
    progress = ProgressFile(LocalStorage(tmp_path))
    progress(STARTED)
    first = {"tiles": {"done": 1, "total": 2}, "fits": {"done": 0, "total": 3}}
    assert content(tmp_path) == {
        "stages": first,
        "workers": None,
        "seconds_elapsed": 0.0,
        "seconds_remaining": None,
        "running": [],
        "written": 5000.0,
    }
    progress(ClusterOpened(4, "off"))
    clock[0] += WRITE_INTERVAL_S / 2
    progress(TaskFinished("tiles/a/1", "tiles", 1.0, "", 77.0))
    assert content(tmp_path)["stages"] == first  # it is written at most every ten seconds
    clock[0] += WRITE_INTERVAL_S
    progress(TaskFinished("fits/a/0", "fits", 1.0, "", 62.04))
    assert content(tmp_path) == {
        "stages": {"tiles": {"done": 2, "total": 2}, "fits": {"done": 1, "total": 3}},
        "workers": 4,
        "seconds_elapsed": 15.0,
        "seconds_remaining": 62.0,
        "running": [],
        "written": 5000.0,
    }
    progress(TaskFinished("fits/a/1", "fits", 1.0, "", 31.0))
    progress(TasksStopped())
    assert content(tmp_path)["seconds_remaining"] == 31.0
    assert last_workers(LocalStorage(tmp_path)) == 4
    assert [path.name for path in tmp_path.iterdir()] == ["progress.json"]


def test_verification_does_not_report_the_progress_file(tmp_path: Path) -> None:
    root = LocalStorage(tmp_path)
    ProgressFile(root)(STARTED)
    assert foreign_files(root, root, ()) == []


def test_a_file_that_cannot_be_written_does_not_stop_a_run(tmp_path: Path) -> None:
    (tmp_path / "progress.json").mkdir()
    ProgressFile(LocalStorage(tmp_path))(STARTED)
    assert last_workers(LocalStorage(tmp_path)) is None
    ProgressFile(LocalStorage(tmp_path / "deleted"))(STARTED)
    assert not (tmp_path / "deleted").exists()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"workers": null}', '{"workers": "many"}'])
def test_an_invalid_file_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "progress.json").write_text(text)
    assert last_workers(LocalStorage(tmp_path)) is None


LONG, TWO = RunningBatch(("fits/a/0",), 71.0, "5 passes"), RunningBatch(("fits/a/1", "fits/a/2"), 3.0)


def test_running_tasks_are_in_the_file_although_none_is_finished(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock, wall = [100.0], [5000.0]
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.time", lambda: wall[0])
    root = LocalStorage(tmp_path)
    progress = ProgressFile(root)
    progress(STARTED)
    assert running_batches(root) == []
    clock[0] += 1.0  # earlier than the interval of finished tasks
    progress(TasksRunning((LONG, TWO), 1860.04))
    written = content(tmp_path)
    assert written["seconds_remaining"] == 1860.0
    assert written["running"] == [
        {"tasks": ["fits/a/0"], "seconds": 71.0, "progress": "5 passes"},
        {"tasks": ["fits/a/1", "fits/a/2"], "seconds": 3.0, "progress": ""},
    ]
    wall[0] += 7.0
    assert running_batches(root) == [replace(LONG, seconds=78.0), replace(TWO, seconds=10.0)]
    clock[0] += WRITE_INTERVAL_S
    progress(TaskFinished("fits/a/1", "fits", 1.0, "", 1800.0))
    assert running_batches(root) == [replace(LONG, seconds=81.0)], "the file is new, and the batch has ended"
    progress(TasksStopped())
    assert running_batches(root) == []


def test_the_running_tasks_of_a_run_that_was_killed_are_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = LocalStorage(tmp_path)
    ProgressFile(root)(TasksRunning((LONG,), None))
    now = time.time()
    for age, count in ((0.0, 1), (-0.5 * MAX_AGE_S, 1), (1.5 * MAX_AGE_S, 0), (-1.5 * MAX_AGE_S, 0)):
        monkeypatch.setattr("kernel_pipeline.run.progress_file.time.time", lambda now=now + age: now)
        assert len(running_batches(root)) == count


FORGED: list[object] = [
    None,
    "fits/a/0",
    [],
    {"tasks": ["fits/a/0"], "seconds": 1.0},
    {"tasks": [], "seconds": 1.0, "progress": ""},
    {"tasks": "fits/a/0", "seconds": 1.0, "progress": ""},
    {"tasks": [7], "seconds": 1.0, "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": -1.0, "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": 1e300, "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": 10**400, "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": float("nan"), "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": "1", "progress": ""},
    {"tasks": ["fits/a/0"], "seconds": 1.0, "progress": ["5 passes"]},
]


@pytest.mark.parametrize("batch", FORGED)
def test_forged_running_tasks_are_ignored(tmp_path: Path, batch: object) -> None:
    (tmp_path / "progress.json").write_text(json.dumps({"workers": 2, "running": [batch], "written": time.time()}))
    assert running_batches(LocalStorage(tmp_path)) == []
    assert last_workers(LocalStorage(tmp_path)) == 2


@pytest.mark.parametrize(
    "others", ["", ', "running": {}', ', "running": []', ', "written": "now"', ', "written": 1e999']
)
def test_files_of_earlier_versions_and_damaged_ones_have_no_running_tasks(tmp_path: Path, others: str) -> None:
    (tmp_path / "progress.json").write_text(f'{{"workers": 2{others}}}')
    assert running_batches(LocalStorage(tmp_path)) == []
    assert last_workers(LocalStorage(tmp_path)) == 2


def test_the_text_of_a_forged_file_is_one_short_printable_line(tmp_path: Path) -> None:
    batch = {"tasks": ["fits/a/0"], "seconds": 1.0, "progress": "\x1b[2J\n" + "x" * 10_000}
    (tmp_path / "progress.json").write_text(json.dumps({"running": [batch], "written": time.time()}))
    (found,) = running_batches(LocalStorage(tmp_path))
    assert found.progress.isprintable()
    assert len(found.progress) < 200
