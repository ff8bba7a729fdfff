"""Scripts can read the progress of a run from `progress.json` while it is executed."""

import json
from pathlib import Path

import pytest

from kernel_pipeline.events import ClusterOpened, TaskFinished, TasksStarted, TasksStopped
from kernel_pipeline.run.foreign_files import foreign_files
from kernel_pipeline.run.progress_file import WRITE_INTERVAL_S, ProgressFile, last_workers
from kernel_pipeline.store.local_storage import LocalStorage

STARTED = TasksStarted({"tiles": 2, "fits": 3, "weights": 0}, {"tiles": 1})


def content(root: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((root / "progress.json").read_text())
    return found


def test_the_file_has_stages_and_times(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [100.0]
    monkeypatch.setattr("kernel_pipeline.run.progress_file.time.monotonic", lambda: clock[0])
    progress = ProgressFile(LocalStorage(tmp_path))
    progress(STARTED)
    first = {"tiles": {"done": 1, "total": 2}, "fits": {"done": 0, "total": 3}}
    assert content(tmp_path) == {
        "stages": first,
        "workers": None,
        "seconds_elapsed": 0.0,
        "seconds_remaining": None,
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
