"""Parts that are specific to object stores: locks, segments of the ledger, errors and logs."""

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


def stored_holder(root: ObjectStorage) -> Holder | None:
    return Holder.of(root.read("lock").partition(b"\n")[0])


def test_lock_is_exclusive_and_removed_afterwards(root: ObjectStorage) -> None:
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


def test_lock_that_is_removed_while_it_is_read_is_acquired(
    root: ObjectStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    root.write("lock", b"of one that ends now")
    read = ObjectStorage.read

    def read_after_removal(self: ObjectStorage, key: str) -> bytes:
        self.remove(key)
        return read(self, key)

    monkeypatch.setattr(ObjectStorage, "read", read_after_removal)
    assert root.create("lock", b"ours")
    monkeypatch.undo()
    assert root.read("lock") == b"ours"


def test_lock_is_replaced_by_only_one_process(root: ObjectStorage) -> None:
    root.write("lock", b"of a dead one")
    _, tag = root.read_tagged("lock")
    assert root.replace("lock", b"ours", tag)
    assert root.replace("lock", b"ours", tag), "a repeated put succeeds"
    assert not root.replace("lock", b"of another", tag)
    root.remove("lock")
    assert not root.replace("lock", b"of another", tag)


def test_lock_taken_over_by_another_process_is_not_removed(root: ObjectStorage) -> None:
    other = Holder("another", 7, "2026-01-02 03:04:05+00:00")
    with root.locked():
        root.write("lock", other.content())
    assert stored_holder(root) == other


@pytest.mark.parametrize("stale", ["nobody", "a dead process", "a later process", "garbage"])
def test_only_one_of_many_concurrent_contenders_gets_the_lock(stale: str, root: ObjectStorage) -> None:
    here = Holder.this_process()
    left = {
        "a dead process": replace(here, pid=dead_process()).content(),
        "a later process": replace(here, pid=os.getpid(), since="2020-01-02 03:04:05+00:00").content(),
        "garbage": b"{",
    }
    if stale in left:
        root.write("lock", left[stale])
        assert root.holder() is None
    together, outcomes, all_reported = threading.Barrier(CONTENDERS), [], threading.Event()

    def report(outcome: str) -> None:
        outcomes.append(outcome)
        if len(outcomes) == CONTENDERS:
            all_reported.set()

    def contend() -> None:
        together.wait()
        try:
            with root.locked():
                report("held")
                all_reported.wait(30)
        except RefusedError:
            report("refused")

    threads = [threading.Thread(target=contend) for _ in range(CONTENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert Counter(outcomes) == {"held": 1, "refused": CONTENDERS - 1}
    assert not root.exists("lock")


def test_lock_of_an_earlier_start_of_the_same_job_is_taken_over_on_any_host(
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
    assert root.holder() == other  # it may be another process of the same start
    monkeypatch.setenv("SLURM_RESTART_COUNT", "1")
    assert root.holder() is None
    with root.locked():
        held = stored_holder(root)
        assert held
        assert (held.pid, held.job) == (os.getpid(), "123")
    assert not root.exists("lock")


def test_segments_are_read_as_one_ledger(root: ObjectStorage) -> None:
    ledger = Ledger(root)
    assert not ledger.journal.exists()
    ledger.append(entry("a"))
    ledger.append()
    ledger.append(entry("b"), entry("c"))
    again = Ledger(root)
    again.append(entry("a", 2.0))
    assert list(root.keys("ledger")) == [f"ledger/0000000{number}.jsonl" for number in (1, 2, 3)]
    assert Ledger(root).read().tasks == {"a": entry("a", 2.0), "b": entry("b"), "c": entry("c")}


def test_second_writer_is_refused(root: ObjectStorage) -> None:
    one, other = Ledger(root), Ledger(root)
    one.append(entry("a"))
    other.append(entry("b"))
    with pytest.raises(RefusedError, match=f"{root} is being written by another run.*00000002.jsonl exists already"):
        one.append(entry("c"))
    assert list(Ledger(root).read().tasks) == ["a", "b"]


def test_repeated_put_of_the_same_content_succeeds(root: ObjectStorage) -> None:
    assert root.create("x", b"one")
    assert root.create("x", b"one")
    assert not root.create("x", b"two")
    assert root.read("x") == b"one"


@pytest.mark.parametrize("how", ["removed", "cut off", "changed"])
def test_damaged_segment_is_refused_until_it_is_dropped(how: str, root: ObjectStorage) -> None:
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


def test_removal_of_a_run_is_detected(root: ObjectStorage) -> None:
    ledger = Ledger(root)
    ledger.append(entry("a"))
    root.remove_files("", lambda _: True)
    with pytest.raises(StorageError, match="was moved or removed during the run"):
        ledger.append(entry("b"))
    assert not root.exists()


def test_errors_are_short_and_can_be_pickled(
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


def test_long_logs_are_truncated_and_all_logs_are_uploaded_at_the_end(
    root: ObjectStorage, scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_logs, "MAX_LOG_BYTES", 100)
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
