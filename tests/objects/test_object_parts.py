"""The parts that object stores need of their own: locks, segments of the ledger, errors, logs."""

import errno
import os
import pickle
import subprocess
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kernel_pipeline.errors import RefusedError, StorageError, UnreachableError
from kernel_pipeline.store import object_logs
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.lock import Holder
from kernel_pipeline.store.object_storage import ObjectStorage
from kernel_pipeline.store.reports import TaskReport

pytestmark = pytest.mark.components

CONTENDERS = 8


def entry(name: str, seconds: float = 1.0) -> TaskReport:
    return TaskReport(task=name, identity="i", digests={"gram.zarr/k": "ab:2"}, seconds=seconds, peak_memory=5)


def dead_process() -> int:
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def lock_names(root: ObjectStorage) -> Holder | None:
    return Holder.of(root.read("lock").partition(b"\n")[0])


def test_a_lock_is_held_once_and_gone_afterwards(root: ObjectStorage) -> None:
    assert root.holder() is None
    with root.locked():
        held = root.holder()
        assert held
        assert held.pid == os.getpid()
        with pytest.raises(RefusedError, match=f"{root} is in use by process {os.getpid()}"), root.locked():
            pass
        with pytest.raises(RefusedError, match="is in use"):
            root.unlock()
    assert not root.exists("lock")


def test_a_lock_that_is_removed_as_we_look_is_ours(root: ObjectStorage, monkeypatch: pytest.MonkeyPatch) -> None:
    root.write("lock", b"of one that ends now")
    read = ObjectStorage.read

    def too_late(self: ObjectStorage, key: str) -> bytes:
        self.remove(key)
        return read(self, key)

    monkeypatch.setattr(ObjectStorage, "read", too_late)
    assert root.create("lock", b"ours")
    monkeypatch.undo()
    assert root.read("lock") == b"ours"


def test_a_lock_is_replaced_once_and_by_whom_it_says(root: ObjectStorage) -> None:
    root.write("lock", b"of a dead one")
    _, tag = root.read_tagged("lock")
    assert root.replace("lock", b"ours", tag)
    assert root.replace("lock", b"ours", tag), "a put that is tried again finds itself"
    assert not root.replace("lock", b"of another", tag)
    root.remove("lock")
    assert not root.replace("lock", b"of another", tag)


def test_a_lock_that_another_took_meanwhile_is_left_to_the_other(root: ObjectStorage) -> None:
    other = Holder("another", 7, "2026-01-02 03:04:05+00:00")
    with root.locked():
        root.write("lock", other.content())
    assert lock_names(root) == other


@pytest.mark.parametrize("stale", ["nobody", "a dead process", "a later process", "garbage"])
def test_of_many_that_come_at_once_one_gets_the_lock(stale: str, root: ObjectStorage) -> None:
    here = Holder.this_process()
    left = {
        "a dead process": replace(here, pid=dead_process()).content(),
        "a later process": replace(here, pid=os.getpid(), since="2020-01-02 03:04:05+00:00").content(),
        "garbage": b"{",
    }
    if stale in left:
        root.write("lock", left[stale])
        assert root.holder() is None
    together, outcomes, all_said = threading.Barrier(CONTENDERS), [], threading.Event()

    def say(outcome: str) -> None:
        outcomes.append(outcome)
        if len(outcomes) == CONTENDERS:
            all_said.set()

    def contend() -> None:
        together.wait()
        try:
            with root.locked():
                say("held")
                all_said.wait(30)
        except RefusedError:
            say("refused")

    threads = [threading.Thread(target=contend) for _ in range(CONTENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(outcomes) == {"held": 1, "refused": CONTENDERS - 1}
    assert not root.exists("lock")


def test_a_lock_of_an_earlier_life_of_the_same_job_is_taken_over_from_any_host(
    root: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = Holder("another", 7, "2026-01-02 03:04:05+00:00", job="123")
    root.write("lock", other.content())
    for job in ("124", ""):
        monkeypatch.setenv("SLURM_JOB_ID", job)
        with pytest.raises(RefusedError, match="is in use by process 7 on another in job 123"), root.locked():
            pass
        assert root.holder() == other
    monkeypatch.setenv("SLURM_JOB_ID", "123")
    assert root.holder() == other  # it may be another process of the same life
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert root.holder() is None
    with root.locked():
        held = lock_names(root)
        assert held
        assert (held.pid, held.job) == (os.getpid(), "123")
    assert not root.exists("lock")


def test_segments_are_one_ledger(root: ObjectStorage) -> None:
    ledger = Ledger(root)
    assert not ledger.journal.exists()
    ledger.append(entry("a"))
    ledger.append()
    ledger.append(entry("b"), entry("c"))
    again = Ledger(root)
    again.append(entry("a", 2.0))
    assert list(root.keys("ledger")) == [f"ledger/0000000{number}.jsonl" for number in (1, 2, 3)]
    assert Ledger(root).read().tasks == {"a": entry("a", 2.0), "b": entry("b"), "c": entry("c")}


def test_a_second_writer_is_told(root: ObjectStorage) -> None:
    one, other = Ledger(root), Ledger(root)
    one.append(entry("a"))
    other.append(entry("b"))
    with pytest.raises(RefusedError, match=f"{root} is being written by another run.*00000002.jsonl exists already"):
        one.append(entry("c"))
    assert list(Ledger(root).read().tasks) == ["a", "b"]


def test_a_segment_whose_put_was_answered_too_late_is_our_own(root: ObjectStorage) -> None:
    assert root.create("x", b"one")
    assert root.create("x", b"one")
    assert not root.create("x", b"two")
    assert root.read("x") == b"one"


@pytest.mark.parametrize("how", ["removed", "cut off", "changed"])
def test_a_spoiled_segment_is_refused_until_it_is_dropped(how: str, root: ObjectStorage) -> None:
    for name in "abc":
        Ledger(root).append(entry(name))
    key, content = "ledger/00000002.jsonl", root.read("ledger/00000002.jsonl")
    if how == "removed":
        root.remove(key)
    else:
        root.write(key, content[:-9] if how == "cut off" else content.replace(b'"b"', b'"d"'))
    with pytest.raises(RefusedError, match=f"{root}/ledger, line 2 is not .*`pipeline verify {root} --repair`"):
        Ledger(root).read()
    assert Ledger(root).drop_garbage() == [2]
    assert list(Ledger(root).read().tasks) == ["a", "c"]
    Ledger(root).append(entry("d"))
    assert list(Ledger(root).read().tasks) == ["a", "c", "d"]


def test_a_run_that_someone_removes_is_noticed(root: ObjectStorage) -> None:
    ledger = Ledger(root)
    ledger.append(entry("a"))
    root.remove_files("", lambda _: True)
    with pytest.raises(StorageError, match="was moved or removed during the run"):
        ledger.append(entry("b"))
    assert not root.exists()


def test_errors_are_those_of_files_short_and_can_be_sent(
    place: Callable[[], ObjectStorage], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of-someone-else")
    refused = place()
    for work in (lambda: refused.read("x"), lambda: refused.write("x", b""), lambda: list(refused.keys(""))):
        with pytest.raises(UnreachableError) as caught:
            work()
        sent = pickle.loads(pickle.dumps(caught.value))
        assert (type(sent), sent.errno) == (UnreachableError, errno.EACCES)
        assert str(refused) in sent.filename
        assert len(str(sent)) < 250
        assert "of-someone-else" not in repr(caught.value.__cause__) + str(sent)


def test_logs_that_grow_too_long_are_bounded_and_all_are_kept_in_the_end(
    root: ObjectStorage, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_logs, "MAX_BYTES", 100)
    logs = root.logs()
    assert logs.folder.is_relative_to(scratch / "kernel-pipeline")
    assert root.logs().folder == logs.folder
    logs.folder.mkdir(parents=True)
    with (logs.folder / "worker-0.log").open("a") as file:
        for number in range(50):
            file.write(f"line {number:03}\n")
            file.flush()
            logs.trim()
    (logs.folder / "driver.log").write_text("short\n")
    assert sum(path.stat().st_size for path in logs.folder.iterdir()) < 300
    logs.keep()
    kept = {key.rpartition("/")[2]: root.read(key) for key in root.keys("logs")}
    assert kept["driver.log"] == b"short\n"
    assert (kept["worker-0.log.older"] + kept["worker-0.log"]).endswith(b"line 048\nline 049\n")
    assert not (scratch / "kernel-pipeline").exists()
