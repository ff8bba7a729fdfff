"""Tasks that outlive their driver, where the arrays are in an object store."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.errors import SupersededError
from kernel_pipeline.run.driver import Run
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.fence import Fence
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.object_storage import ObjectStorage
from kernel_pipeline.store.reports import TaskReport
from tests.faults.harness import TINY, command, no_workers, tables, write_config
from tests.objects.harness import assert_same

pytestmark = pytest.mark.components

CHUNK = "gram.zarr/d/gram/c/0"
OTHER = Holder("another", 7, "2026-01-02 03:04:05+00:00", token="another")


@pytest.fixture
def array(root: ObjectStorage) -> ObjectStorage:
    """A place with one array, which has one chunk."""
    store = RunStore(root)
    store.create(GRAM, "d/gram", (5,), (5,), "for a test")
    store.write(GRAM, "d/gram", np.zeros(5))
    return root


def write(store: RunStore) -> None:
    store.write_chunk(GRAM, "d/gram", (0,), np.ones(5))


def test_only_the_holder_of_the_lock_can_write(array: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    before = array.read(CHUNK)
    with array.locked() as first:
        late = RunStore(array, first)
    with array.locked() as second:
        with pytest.raises(SupersededError, match="was taken over by process"):
            write(late)
        assert array.read(CHUNK) == before
        store = RunStore(array, second)
        write(store)
        assert array.read(CHUNK) != before
        array.write("lock", OTHER.content())
        write(store)  # the lock is read at most once per second
        with pytest.raises(SupersededError, match="was taken over by process 7 on another"):
            store.fence.check(now=True)
        monkeypatch.setattr(ObjectStorage, "seconds_to_trust_lock", 0.0)
        with pytest.raises(SupersededError, match="was taken over by process 7 on another"):
            write(store)
    assert array.exists("lock"), "the lock of the other run was removed"


def test_place_of_arrays_holds_the_lock_of_the_run_until_it_ends(
    place: Callable[[], ObjectStorage], reference: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    above, seen = place(), []
    record = Run.record

    def look(run: Run, entries: list[TaskReport]) -> None:
        held = Holder.of(run.store.root.read("lock"))
        assert held is not None
        seen.append(held.token == run.store.fence.token != "")
        record(run, entries)

    monkeypatch.setattr(Run, "record", look)
    config = write_config(tmp_path, TINY | {"storage": TINY["storage"] | {"url": above.address}})
    with no_workers():
        done = command("run", config, "--out", tmp_path / "run")
    assert done.exit_code == 0, done.output
    assert seen
    assert all(seen)
    (arrays,) = above.children()
    assert not arrays.exists("lock")
    assert tables(tmp_path / "run") == tables(reference)


@pytest.mark.parametrize("what", ["the arrays", "the run"])
def test_driver_whose_lock_is_taken_over_stops_without_recording_more(
    what: str, place: Callable[[], ObjectStorage], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ObjectStorage, "seconds_to_trust_lock", 0.0)
    above, taken = place(), []

    def take_over(done: int) -> None:
        if done == 3:
            (root,) = above.children() if what == "the arrays" else (above,)
            root.write("lock", OTHER.content())
            taken.append(root)

    storage = TINY["storage"] | ({"url": above.address} if what == "the arrays" else {})
    out = tmp_path / "run" if what == "the arrays" else above.address
    config = write_config(tmp_path, TINY | {"storage": storage})
    with no_workers(before_task=take_over):
        stopped = command("run", config, "--out", out)
    assert stopped.exit_code == 4, stopped.output
    assert "was taken over by process 7 on another" in stopped.output
    (root,) = taken
    assert root.exists("lock"), "the lock of the other run was removed"
    with pytest.raises(SupersededError):
        Fence(root, "ours").check()
    root.remove("lock")
    with no_workers():
        done = command("resume", out)
    assert done.exit_code == 0, done.output


def test_other_values_with_a_valid_checksum_are_detected_when_read(
    root: ObjectStorage, reference: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Run.record
    written: list[str] = []

    def record(run: Run, entries: list[TaskReport]) -> None:
        real(run, entries)
        if "tiles/wave/0" in {entry.name for entry in entries} and not written:
            key, other = (f"gram.zarr/wave/gram/c/0/{place}" for place in ("0/0", "1/1"))
            run.store.root.write(key, run.store.root.read(other))
            written.append(key)

    monkeypatch.setattr(Run, "record", record)
    with no_workers():
        done = command("run", reference.parent / "tiny.toml", "--out", root.address)
    assert done.exit_code == 0, done.output
    assert "differs from the ledger" in done.output
    assert_same(root, reference)
