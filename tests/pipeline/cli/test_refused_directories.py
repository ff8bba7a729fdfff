"""Run directories that are refused: one message, its exit code, and nothing written."""

import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.build import ROWS, config_values, put, put_config
from tests.pipeline.cli.refusals import OCCUPIED, refused, run


def test_a_directory_of_another_sweep(begun: Path, folder: Path) -> None:
    text = refused(
        folder, "sweep.toml", "--out", "begun", "--set", "protocol.folds=4", "--set", "seed=2", code=OCCUPIED
    )
    assert text.startswith("Error: begun contains another sweep")
    for word in ("protocol.folds: 3 -> 4", "seed: 0 -> 2", "--out", "--accept-changes"):
        assert word in text


def test_a_directory_of_a_sweep_with_another_dataset(begun: Path, folder: Path) -> None:
    text = refused(folder, "sweep.toml", "--out", "begun", "--set", "dataset.things.rows=8", code=OCCUPIED)
    assert "dataset[0].rows: not set -> 8" in text


def test_a_directory_that_is_not_a_run(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    (folder / "mine").mkdir()
    put(folder / "mine", "dear diary", "notes.txt")
    text = refused(folder, "sweep.toml", "--out", "mine", code=OCCUPIED)
    for word in ("mine is not empty", "not a run directory", "--out"):
        assert word in text


def test_a_directory_that_is_a_file(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    text = refused(folder, "sweep.toml", "--out", "things.csv", code=OCCUPIED)
    for word in ("things.csv is a file", "--out"):
        assert word in text


def test_a_directory_below_a_file(folder: Path) -> None:
    put(folder, ROWS)
    put_config(folder, config_values())
    text = refused(folder, "sweep.toml", "--out", "things.csv/inner/run", code=OCCUPIED)
    for word in ("things.csv", "cannot be used: Not a directory", "--out"):
        assert word in text


@pytest.mark.parametrize("out", ["new/run", "begun"])
def test_a_directory_that_may_not_be_written(
    out: str, begun: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*arguments: Any, **options: Any) -> None:
        raise PermissionError(13, "Permission denied")

    # Tests may run as root, for which the mode of a folder has no effect.
    monkeypatch.setattr(tempfile, "TemporaryFile", denied)
    text = refused(folder, "sweep.toml", "--out", out, code=OCCUPIED)
    for word in ("cannot be written to", "Permission denied", "--out"):
        assert word in text


def test_data_that_changed_after_the_run_started(begun: Path, folder: Path) -> None:
    put(folder, ROWS.replace("8,1,a", "8,2,a"))
    text = refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
    for word in ("'things'", "changed", "begun", "--out", "--accept-changes"):
        assert word in text


def test_a_damaged_ledger_in_the_directory(begun: Path, folder: Path) -> None:
    put(begun, "no json\n", "ledger.jsonl")
    text = refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
    for word in ("ledger.jsonl", "line 1", "pipeline verify begun --repair"):
        assert word in text


def test_the_same_sweep_in_its_own_directory_is_not_refused(begun: Path) -> None:
    """Check that, without a mistake, the sweep of these tests gets as far as starting a cluster."""
    result = run("sweep.toml", "--out", "begun")
    assert isinstance(result.exception, AssertionError)
    assert str(result.exception) == "a cluster is started"


@pytest.mark.parametrize(
    ("name", "content"),
    [("config.toml", b"\xff"), ("config.toml", b"name = "), ("environment.json", b"{"), ("environment.json", b"{}")],
)
def test_a_damaged_file_that_the_ledger_cannot_restore(name: str, content: bytes, begun: Path, folder: Path) -> None:
    (begun / "ledger.jsonl").unlink()
    put(begun, content, name)
    assert f"{name} is damaged" in refused(folder, "sweep.toml", "--out", "begun", code=OCCUPIED)
