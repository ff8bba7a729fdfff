from pathlib import Path

import numpy as np
import pytest

from kernel_pipeline.errors import StorageError, SupersededError
from kernel_pipeline.store.arrays import GRAM, RunStore
from kernel_pipeline.store.fence import Fence, guarded_arrays
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.lock import Holder

CHUNK = "gram.zarr/d/gram/c/0"


@pytest.fixture
def root(tmp_path: Path) -> LocalStorage:
    """Return a folder with one array of one chunk."""
    store = RunStore(LocalStorage(tmp_path))
    store.create(GRAM, "d/gram", (5,), (5,), "for a test")
    store.write(GRAM, "d/gram", np.zeros(5))
    return LocalStorage(tmp_path)


def write(store: RunStore) -> None:
    store.write_chunk(GRAM, "d/gram", (0,), np.ones(5))


def assert_refused(root: LocalStorage, store: RunStore, words: str) -> None:
    before = root.read(CHUNK)
    with pytest.raises(SupersededError, match=words) as caught:
        write(store)
    assert caught.value.exit_code == 4
    assert root.read(CHUNK) == before
    assert not list(root.path.rglob("*.partial"))


def test_every_lock_has_its_own_token(root: LocalStorage) -> None:
    with root.locked() as first:
        held = Holder.of(root.read("lock"))
    with root.locked() as second:
        pass
    assert held is not None
    assert held.token == first != second != ""


def test_only_the_holder_of_the_lock_may_write(root: LocalStorage) -> None:
    with root.locked() as first:
        store = RunStore(root, first)
        write(store)
        assert store.read(GRAM, "d/gram").tolist() == [1.0] * 5
    assert_refused(root, store, "the lock of .* no longer exists")
    with root.locked() as second:
        assert_refused(root, store, "was taken over by process")
        write(RunStore(root, second))


def test_a_directory_that_was_moved_is_named_as_such(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    folder.mkdir()
    root = LocalStorage(folder)
    with root.locked() as token:
        folder.rename(tmp_path / "moved")
        with pytest.raises(StorageError, match="was moved or removed during the run"):
            Fence(root, token).check()


def test_a_chunk_is_not_stored_if_the_lock_changes_while_it_is_written(
    root: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Holder("another", 7, "2026-01-02 03:04:05+00:00", token="another")
    read = LocalStorage.read

    def taken_over(self: LocalStorage, key: str, *limit: int) -> bytes:
        content = read(self, key, *limit)
        if key == "lock":
            (self.path / key).write_bytes(other.content())  # right after the first check
        return content

    with root.locked() as token:
        store = RunStore(root, token)
        store.array(GRAM, "d/gram")
        monkeypatch.setattr(LocalStorage, "read", taken_over)
        assert_refused(root, store, "was taken over by process 7 on another")


def test_a_concurrent_write_of_another_process_is_detected(root: LocalStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    """A task must report the digest of the content that it wrote."""
    others = root.read(CHUNK)
    digests = LocalStorage.digests

    def overwritten(self: LocalStorage, keys: list[str], full: bool = True) -> dict[str, str]:
        self.write(CHUNK, others)
        return digests(self, keys, full)

    monkeypatch.setattr(LocalStorage, "digests", overwritten)
    with pytest.raises(OSError, match="the file differs from what was just written"):
        write(RunStore(root))


def test_the_lock_is_copied_to_a_separate_storage_of_arrays_and_removed_there(
    root: LocalStorage, tmp_path: Path
) -> None:
    arrays = LocalStorage(tmp_path / "elsewhere")
    arrays.make()
    with root.locked() as token:
        with guarded_arrays(root, arrays, token):
            Fence(arrays, token).check()
        with pytest.raises(SupersededError):
            Fence(arrays, token).check()
        with guarded_arrays(root, arrays, token):
            arrays.write("lock", Holder("another", 7, "now", token="another").content())
        assert arrays.exists("lock"), "the lock of another run was removed"
        with guarded_arrays(root, root, token):
            pass
        Fence(root, token).check()


def test_a_check_is_trusted_for_a_while_if_the_lock_is_slow_to_read(
    root: LocalStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalStorage, "seconds_to_trust_lock", 3600.0)
    with root.locked() as token:
        fence = Fence(root, token)
        fence.check()
    fence.check()
    with pytest.raises(SupersededError):
        fence.check(now=True)
