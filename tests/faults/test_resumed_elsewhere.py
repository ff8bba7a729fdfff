"""Runs resumed on another machine, with changed source data, after a reverted change, or after a late Ctrl-C."""

import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from kernel_pipeline.run.environment import environment
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.manifest import read_manifest
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.stored_data import create_arrays
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import (
    TINY,
    CrashError,
    assert_same,
    command,
    no_workers,
    rewrite_ledger,
    tables,
    write_config,
)
from tests.helpers.build import config_values, put

pytestmark = pytest.mark.faults

LAST = "fits/wave/regression/unif/0"
FILE_CONFIG = config_values(task="regression", path="data.csv") | {"name": "tiny"}
ROWS = "".join(f"{i},{i * i % 7},{(i * 5) % 11}\n" for i in range(30))


# the machine


def test_the_environment_names_the_cpu_and_each_blas() -> None:
    from kernel_pipeline.run.environment import machine

    found = machine()
    assert found["cpu"]
    for library in found["blas"]:
        assert library.keys() == {"library", "version", "architecture"}
    assert json.loads(environment([], Path()))["machine"] == found


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("cpu", "Another CPU", "CPU Another CPU -> "),
        ("blas", [{"library": "openblas", "version": "0.1", "architecture": "Prescott"}], "openblas 0.1 Prescott -> "),
    ],
)
def test_another_machine_is_reported_when_tasks_are_left(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, value: Any, words: str
) -> None:
    from kernel_pipeline.run import environment as module

    now = module.machine()
    root = tmp_path / "run"
    monkeypatch.setattr(module, "machine", lambda: now | {key: value})
    with no_workers():
        assert command("run", undisturbed.parent / "tiny.toml", "--out", root).exit_code == 0
    rewrite_ledger(root, lambda name: name not in (LAST, "tables"))
    monkeypatch.setattr(module, "machine", lambda: now)
    with no_workers():
        done = command("resume", root)
    assert done.exit_code == 0, done.output
    note = "note: the last digits may differ from those of earlier results, since the environment has changed: "
    assert f"{note}{words}" in done.output
    again = command("resume", root)  # no task is left whose result could differ
    assert "last digits" not in again.output


# the source data


@pytest.fixture
def from_file(tmp_path: Path) -> Path:
    """A run whose data come from a file; all but one of its tasks are done."""
    put(tmp_path, ROWS, "data.csv")
    with no_workers():
        done = command("run", write_config(tmp_path, FILE_CONFIG), "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    rewrite_ledger(tmp_path / "run", lambda name: not name.startswith(("fits/things/regression/unif/0", "tables")))
    return tmp_path / "run"


CHANGED = "note: the data of 'things' have changed since this run began: "


def test_resume_reports_changed_source_data_and_uses_the_stored_copy(from_file: Path) -> None:
    before = tables(from_file)
    put(from_file.parent, ROWS + "1,2,3\n", "data.csv")
    with no_workers():
        done = command("resume", from_file)
    assert done.exit_code == 0, done.output
    assert f"{CHANGED}{from_file.parent / 'data.csv'}. The copy stored with the run is used" in done.output
    assert tables(from_file) == before
    refused = command("run", from_file.parent / "tiny.toml", "--out", from_file)
    assert refused.exit_code == 4
    assert "the data of 'things' have changed" in refused.output


@pytest.mark.parametrize("how", ["same", "touched", "gone", "moved"])
def test_resume_reports_no_change_of_unchanged_or_missing_data(from_file: Path, how: str) -> None:
    data, options = from_file.parent / "data.csv", []
    if how == "touched":
        os.utime(data, (1, 1))
    elif how == "gone":
        data.unlink()
    elif how == "moved":
        (from_file.parent / "elsewhere").mkdir()
        data.rename(from_file.parent / "elsewhere/data.csv")
        options = ["--data-dir", str(from_file.parent / "elsewhere")]
    with no_workers():
        done = command("resume", from_file, *options)
    assert done.exit_code == 0, done.output
    assert "have changed" not in done.output


def test_file_of_unchanged_size_and_time_is_not_read(from_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernel_pipeline.data.source_files.file_sha256", None)
    with no_workers():
        assert command("resume", from_file).exit_code == 0


# a reverted change


@pytest.mark.parametrize(
    "change",
    [
        {"storage": {"tile": 20}},
        {"methods": [*TINY["methods"], "align", "align-krr"]},
        {"protocol": {"folds": 4}},
        {"name": "tiny", "dataset": [*TINY["dataset"], TINY["dataset"][0] | {"name": "third"}]},
    ],
    ids=["tiles", "methods", "folds", "dataset"],
)
@pytest.mark.parametrize("tasks", [None, 0, 4])
def test_run_verifies_after_a_killed_and_reverted_change(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any], tasks: int | None
) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    if tasks is None:

        def crash(*arguments: Any) -> None:
            create_arrays(*arguments)
            raise CrashError

        monkeypatch.setattr("kernel_pipeline.run.driver.create_arrays", crash)
    with no_workers(max_batches=tasks), pytest.raises(CrashError):
        command("run", write_config(tmp_path, TINY | change), "--out", root, "--accept-changes")
    monkeypatch.undo()
    with no_workers():
        back = command("run", undisturbed.parent / "tiny.toml", "--out", root, "--accept-changes")
    assert back.exit_code == 0, back.output
    assert_same(root, undisturbed)
    (root / "gram.zarr/wave/gram/stranger").write_bytes(b"?")
    assert command("verify", root).exit_code == 4, "a file that no task writes is still foreign"


def test_a_chunk_that_no_task_wrote_is_foreign_in_a_run_without_changes(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    shutil.copy(root / "gram.zarr/wave/gram/c/0/0/0", root / "gram.zarr/wave/gram/c/0/9")
    assert command("verify", root).exit_code == 4


# a late Ctrl-C


class InterruptedExecution:
    """Executes all tasks in this process; a stop is requested during the last one."""

    def __init__(
        self, _: Any, schedule: Schedule, store: RunStore, record: Any, __: Any, interrupt: Interrupt, *more: Any
    ) -> None:
        self._schedule, self._store, self._record, self._interrupt = schedule, store, record, interrupt

    def run(self) -> None:
        while batch := self._schedule.take():
            self._record(run_tasks(batch, self._store))
            self._schedule.finish(batch)
        self._interrupt.requested = True


def test_stop_request_without_remaining_tasks_still_writes_the_tables(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    rewrite_ledger(root, lambda name: name not in (LAST, "tables"))
    shutil.rmtree(root / "results")
    opened = SimpleNamespace(max_workers=1, dashboard="", client=SimpleNamespace(scheduler=None), is_external=False)
    monkeypatch.setattr("kernel_pipeline.run.options.open_cluster", lambda *_: nullcontext(opened))
    monkeypatch.setattr("kernel_pipeline.run.options.warm_up", lambda *_: None)
    monkeypatch.setattr("kernel_pipeline.run.executor.Execution", InterruptedExecution)
    done = command("resume", root)
    assert done.exit_code == 0, done.output
    assert read_manifest(LocalStorage(root)).is_complete
    assert_same(root, undisturbed)
