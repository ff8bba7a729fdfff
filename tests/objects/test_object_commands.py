"""Commands that manage runs, for runs in an object store and for runs with only their arrays there."""

import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.store.addresses import storage_at
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.object_storage import ObjectStorage
from tests.faults.harness import TINY, command, lines, no_workers, tables, write_config
from tests.objects.harness import assert_same, copied, files
from tests.objects.server import Server

pytestmark = pytest.mark.components

CHUNK = "combined.zarr/wave/regression/unif/c/1/0/1"
TRIALS = ("0/0/0", "0/0/1", "1/0/1", "2/1/1")
OTHER = Holder("another", 7, "2026-01-02 03:04:05+00:00")


def output_of(*arguments: str | Path, code: int = 0) -> str:
    with no_workers():
        done = command(*arguments)
    assert done.exit_code == code, done.output
    return done.output


@pytest.fixture(scope="module")
def finished(server: Server, reference: Path) -> str:
    """A finished run. Tests copy it and must not change it."""
    address = f"s3://{server.bucket}/finished/run"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        output_of("run", reference.parent / "tiny.toml", "--out", address)
    return address


@pytest.fixture
def run(finished: str, root: ObjectStorage) -> ObjectStorage:
    """A copy of the finished run, which tests can damage."""
    found = storage_at(finished)
    assert isinstance(found, ObjectStorage)
    return copied(found, root)


def test_status_and_runs_show_the_progress(run: ObjectStorage) -> None:
    shown = output_of("status", run.address)
    assert "tiny: 31 of 31 tasks are done" in shown
    assert f"The tables are in {run}/results." in shown
    above = run.address.rpartition("/")[0]
    (line,) = [line for line in output_of("runs", above).splitlines() if run.address in line]
    assert " done " in line
    assert line.split()[-2:] == ["0", "min"]
    assert "there is no folder" in output_of("runs", f"{above}/nothing-here", code=4)


@pytest.mark.slow
def test_only_damaged_chunks_are_named_and_repaired(run: ObjectStorage, reference: Path) -> None:
    deleted, changed, cut_off, emptied = (f"combined.zarr/wave/regression/unif/c/{trial}" for trial in TRIALS)
    before = files(run, "combined.zarr")
    run.remove(deleted)
    run.write(changed, bytes([before[changed][0] ^ 4]) + before[changed][1:])
    run.write(cut_off, before[cut_off][:-9])
    run.write(emptied, b"")
    run.write("gram.zarr/foreign", b"x")
    shown = output_of("verify", run.address, code=4)
    for key in (deleted, changed, cut_off, emptied):
        assert f"{key} is " in shown
    assert "Found 5 problems;" in shown
    quick = output_of("status", run.address)
    assert [f"{key} is " in quick for key in (deleted, changed, cut_off, emptied)] == [True, False, True, True]
    repaired = output_of("verify", run.address, "--repair")
    assert "Repaired 4 problems." in repaired
    assert "1 file that does not belong to this run is left in place" in repaired
    assert files(run, "combined.zarr") == before
    run.remove("gram.zarr/foreign")
    assert_same(run, reference)


@pytest.mark.slow
def test_resume_recomputes_missing_chunks(run: ObjectStorage, reference: Path) -> None:
    run.remove(CHUNK)
    run.remove("config.toml")
    shown = output_of("resume", run.address)
    assert f"{CHUNK} is missing; it is computed again" in shown
    assert "config.toml differs from the ledger, and is restored" in shown
    assert_same(run, reference)


@pytest.mark.slow
def test_clean_removes_the_large_arrays(run: ObjectStorage, reference: Path) -> None:
    before = run.size()
    assert "Freed " in output_of("clean", run.address)
    assert run.size() < 0.7 * before  # the report, figures and tables stay
    assert not list(run.keys("gram.zarr/wave/gram"))
    assert "done, cleaned" in output_of("runs", run.address.rpartition("/")[0])
    assert_same(run, reference)


@pytest.mark.slow
def test_lock_of_another_host_is_kept_until_it_is_removed_by_hand(run: ObjectStorage, reference: Path) -> None:
    run.write("lock", OTHER.content())
    assert f"is in use by {OTHER}" in output_of("resume", run.address, code=4)
    assert f"pipeline unlock {run}" in output_of("verify", run.address, "--repair", code=4)
    assert "is in use by" in output_of("verify", run.address, code=4)
    assert output_of("unlock", run.address) == f"Unlocked; the lock was held by {OTHER}.\n"
    assert output_of("unlock", run.address) == f"{run} is not locked.\n"
    output_of("resume", run.address)
    assert_same(run, reference)


@pytest.mark.slow
def test_another_sweep_or_other_files_are_not_overwritten(run: ObjectStorage, reference: Path, tmp_path: Path) -> None:
    before = files(run)
    config = write_config(tmp_path, TINY | {"seed": 9})
    assert "seed: 0 -> 9" in output_of("run", config, "--out", run.address, code=4)
    above = run.address.rpartition("/")[0]
    assert "is not empty and is not a run directory" in output_of("run", config, "--out", above, code=4)
    assert files(run) == before


def test_pickled_store_contains_the_address_but_no_secret(run: ObjectStorage, server: Server) -> None:
    store = RunStore(run)
    store.array("gram.zarr", "wave/gram")
    sent = pickle.dumps(store)
    assert run.address.encode() in sent
    assert server.secret.encode() not in sent
    assert len(sent) < 500
    received = pickle.loads(sent)
    assert received.read("gram.zarr", "wave/fold").shape == (90,)


@pytest.fixture
def with_url(place: Callable[[], ObjectStorage], tmp_path: Path) -> tuple[Path, ObjectStorage, str]:
    """A finished run whose arrays are in an object store: its root, the place of the arrays, and the output."""
    above = place()
    storage = {"storage": TINY["storage"] | {"url": above.address}}
    shown = output_of("run", write_config(tmp_path, TINY | storage), "--out", tmp_path / "run")
    (arrays,) = above.children()
    return tmp_path / "run", arrays, shown


def entries(root: Path) -> list[dict[str, Any]]:
    """Return the lines of the ledger."""
    return [json.loads(line) for line in (root / "ledger.jsonl").read_bytes().splitlines()]


def test_arrays_are_stored_in_a_separate_place_and_other_files_in_the_folder(
    with_url: tuple[Path, ObjectStorage, str], reference: Path, server: Server
) -> None:
    root, arrays, shown = with_url
    assert arrays.address.rpartition("/")[2].startswith("tiny-")
    assert len(arrays.address.rpartition("-")[2]) == 8
    assert f"of arrays in {arrays}" in shown
    assert entries(root)[0]["result"]["arrays"] == arrays.address
    assert tables(root) == tables(reference)
    assert lines(root) == lines(reference)
    groups = {"gram.zarr", "data.zarr", "statistics.zarr", "weights.zarr", "combined.zarr", "predictions.zarr"}
    assert set(arrays.names()) == groups | {"run-id"}
    assert arrays.read("run-id").decode().strip() == entries(root)[0]["result"]["run"]
    assert {path.name for path in root.iterdir()} == {path.name for path in reference.iterdir()} - groups
    assert all(server.secret.encode() not in path.read_bytes() for path in root.rglob("*") if path.is_file())
    assert "files are intact." in output_of("verify", root)
    assert "31 of 31 tasks are done" in output_of("status", root)


@pytest.mark.slow
def test_arrays_in_an_object_store_are_verified_repaired_and_cleaned(
    with_url: tuple[Path, ObjectStorage, str], reference: Path
) -> None:
    root, arrays, _ = with_url
    arrays.remove(CHUNK)
    arrays.write("gram.zarr/foreign", b"x")
    shown = output_of("verify", root, code=4)
    assert f"{CHUNK} is missing" in shown
    assert "gram.zarr/foreign is not recorded in the ledger" in shown
    assert "Repaired 1 problem." in output_of("verify", root, "--repair")
    arrays.remove("gram.zarr/foreign")
    storage = TINY["storage"] | {"url": arrays.address.rpartition("/")[0]}
    changed = TINY | {"seed": 9, "storage": storage}
    output_of("run", write_config(root.parent, changed), "--out", root, "--accept-changes")
    assert len(arrays.children()) == 6
    sweep_lines = [line for line in entries(root) if line["name"] == "sweep"]
    assert [line["result"]["arrays"] for line in sweep_lines] == 2 * [arrays.address]
    assert "files are intact." in output_of("verify", root)
    output_of("clean", root)
    assert not list(arrays.keys("combined.zarr/wave/regression"))
    assert list(arrays.keys("weights.zarr"))
    assert "files are intact." in output_of("verify", root)


@pytest.mark.slow
def test_inaccessible_place_of_arrays_is_refused_before_anything_is_written(
    root: ObjectStorage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = write_config(tmp_path, TINY | {"storage": {"url": root.address}})
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-someone-else")
    shown = output_of("run", config, "--out", tmp_path / "run", code=4)
    assert shown.startswith(f"Error: {root} cannot be used: the object store refuses access")
    assert "of-someone-else" not in shown
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("mark", [None, "of another run\n"])
def test_place_without_the_id_of_the_run_is_read_but_not_written(
    with_url: tuple[Path, ObjectStorage, str], mark: str | None
) -> None:
    root, arrays, _ = with_url
    if mark is None:
        arrays.remove("run-id")
    else:
        arrays.write("run-id", mark)
    before = files(arrays)
    for arguments in (("clean", root), ("verify", root, "--repair"), ("resume", root)):
        assert "is not marked as belonging to the run" in output_of(*arguments, code=4)
    assert "31 of 31 tasks are done" in output_of("status", root)
    assert "files are intact." in output_of("verify", root)
    assert files(arrays) == before
