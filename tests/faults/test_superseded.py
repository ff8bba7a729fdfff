"""Results computed from inputs that have changed since are found and recomputed; all others are kept."""

import json
import shutil
from collections.abc import Callable, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from kernel_pipeline.run.driver import Run
from kernel_pipeline.stages import tiles
from kernel_pipeline.store.arrays import GRAM, STATISTICS, WEIGHTS, RunStore
from kernel_pipeline.store.digests import content_digest
from kernel_pipeline.store.ledger_entries import LedgerEntry
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import CrashError, added, assert_same, command, lines, no_workers, tables

pytestmark = pytest.mark.faults

TILE = "gram.zarr/wave/gram/c/0/0/0"
TILES, REDUCE = "tiles/wave/0", "reduce/wave/regression"
OUTDATED = "was computed from results that have changed since"


@pytest.fixture
def root(undisturbed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(undisturbed, tmp_path / "run")


@pytest.fixture
def wrong(undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A finished run whose tiles, and all results computed from them, are those of other features."""
    real: Any = vars(tiles)["add_tile"]

    def add_tile(sums: Any, kernels: Any, features: Any, *arguments: Any) -> None:
        real(sums, kernels, features * 1.1, *arguments)

    with monkeypatch.context() as patch, no_workers():
        patch.setattr(tiles, "add_tile", add_tile)
        done = command("run", undisturbed.parent / "tiny.toml", "--out", tmp_path / "wrong")
    assert done.exit_code == 0, done.output
    assert tables(tmp_path / "wrong") != tables(undisturbed)
    return tmp_path / "wrong"


def overwrite(root: Path, group: str, name: str, chunk: tuple[int, ...]) -> None:
    """Write other values with a valid checksum into a chunk, like a stale task of another run."""
    store = RunStore(LocalStorage(root))
    array = store.array(group, name)
    places = zip(chunk, array.chunks, array.shape, strict=True)
    values = np.asarray(array[tuple(slice(i * size, min((i + 1) * size, end)) for i, size, end in places)])
    store.write_chunk(group, name, chunk, values * 1.5)


def rewrite(root: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change entries of a ledger, with valid checksums."""
    ledger, content = root / "ledger.jsonl", b""
    for line in ledger.read_bytes().splitlines():
        values = json.loads(line)
        del values["check"]
        change(values)
        body = json.dumps(values).encode().removesuffix(b"}")
        content += body + b', "check": "' + content_digest(body).encode() + b'"}\n'
    ledger.write_bytes(content)


@pytest.mark.parametrize("arguments", [("resume",), ("verify", "--repair")])
def test_dependents_of_a_tile_with_a_changed_result_are_recomputed(
    wrong: Path, undisturbed: Path, arguments: tuple[str, ...]
) -> None:
    (wrong / TILE).unlink()
    with no_workers():
        done = command(arguments[0], wrong, *arguments[1:])
    assert done.exit_code == 0, done.output
    assert_same(wrong, undisturbed)


@pytest.mark.parametrize("arguments", [("resume",), ("verify", "--repair")])
def test_run_that_dies_after_such_a_tile_is_reported_and_resumed(
    wrong: Path, undisturbed: Path, arguments: tuple[str, ...]
) -> None:
    (wrong / TILE).unlink()
    calls = count()

    def die(_done: int) -> None:
        if next(calls):
            raise CrashError

    with no_workers(before_task=die), pytest.raises(CrashError):
        command("resume", wrong)
    assert lines(wrong)[TILES] == 2
    verified = command("verify", wrong)
    assert verified.exit_code == 4, verified.output
    assert f"{REDUCE} {OUTDATED}" in verified.output
    assert "computed from results that have changed since" in command("status", wrong).output
    with no_workers():
        done = command(arguments[0], wrong, *arguments[1:])
    assert done.exit_code == 0, done.output
    assert_same(wrong, undisturbed)


def test_tile_with_an_unchanged_result_causes_no_other_recomputation(root: Path, undisturbed: Path) -> None:
    (root / TILE).unlink()
    with no_workers():
        assert command("resume", root).exit_code == 0
    assert added(root, undisturbed) == {TILES: 1}
    assert_same(root, undisturbed)


def test_dependents_of_an_outdated_result_are_kept_if_it_does_not_change(root: Path, undisturbed: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        if values["name"] == REDUCE:
            values["inputs"] = values["inputs"].partition(":")[0] + ":1"

    rewrite(root, change)
    found = command("verify", root)
    assert found.exit_code == 4, found.output
    assert found.output.count(OUTDATED) == 1
    with no_workers():
        assert command("verify", root, "--repair").exit_code == 0
    assert added(root, undisturbed) == {REDUCE: 1}
    assert_same(root, undisturbed)


def test_ledger_of_an_earlier_version_without_inputs_is_accepted(root: Path, undisturbed: Path) -> None:
    rewrite(root, lambda values: values.pop("inputs", None))
    assert '"inputs"' not in (root / "ledger.jsonl").read_text()
    assert_same(root, undisturbed)
    with no_workers():
        assert command("resume", root).exit_code == 0
    assert added(root, undisturbed) == {}


@pytest.mark.parametrize(
    ("after", "group", "name", "chunk"),
    [
        (TILES, GRAM, "wave/gram", (0, 0, 0)),
        (TILES, STATISTICS, "wave/sums/products", (0, 0, 0, 0, 0)),
        (REDUCE, STATISTICS, "wave/regression/M", (1, 0, 0)),
        (REDUCE, STATISTICS, "wave/regression/alignment", (1, 0)),  # only the tables read it
        ("weights/wave/regression/unif/0-2", WEIGHTS, "wave/regression/unif", (0, 0)),
        ("combine/wave/regression/unif/0", "combined.zarr", "wave/regression/unif", (2, 1, 1)),
        ("data/columns", "data.zarr", "columns/targets", (0, 0)),
    ],
)
def test_other_values_with_a_valid_checksum_are_detected_when_read(
    undisturbed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    after: str,
    group: str,
    name: str,
    chunk: tuple[int, ...],
) -> None:
    """The values are overwritten once, right after the task that wrote them was recorded."""
    root, real, times = tmp_path / "run", Run.record, count()

    def record(run: Run, entries: Sequence[LedgerEntry]) -> None:
        real(run, entries)
        if after in {entry.name for entry in entries} and not next(times):
            overwrite(root, group, name, chunk)

    monkeypatch.setattr(Run, "record", record)
    with no_workers():
        done = command("run", undisturbed.parent / "tiny.toml", "--out", root)
    assert done.exit_code == 0, done.output
    assert "differs from the ledger" in done.output
    assert lines(root)[after] == 2
    assert_same(root, undisturbed)


def test_tables_of_an_earlier_state_are_found_and_written_again(root: Path, undisturbed: Path) -> None:
    def change(values: dict[str, Any]) -> None:
        if values["name"] == TILES:
            values["seconds"] += 1.0  # as after another execution of the task

    rewrite(root, change)
    found = command("verify", root)
    assert found.exit_code == 4, found.output
    assert "results contains tables of an earlier state of this run" in found.output
    with no_workers():
        assert command("verify", root, "--repair").exit_code == 0
    assert_same(root, undisturbed)
