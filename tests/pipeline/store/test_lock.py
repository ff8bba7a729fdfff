"""The lock of a run directory, with processes that hold it, have died, or run on another host."""

import errno
import fcntl
import json
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.errors import RefusedError, StorageError
from kernel_pipeline.store.lock import LOCK_TIMEOUT_S, Holder, holder, locked, unlock
from tests.helpers.build import PROJECT

HERE = socket.gethostname()
OTHER = Holder("another-host", 7, "2026-01-02 03:04:05+00:00")
HOLDING = """
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from kernel_pipeline.store.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def put_lock(root: Path, found: Holder) -> None:
    """Write the lock that a killed process leaves."""
    (root / "lock").write_bytes(found.content())


def hold(root: Path) -> subprocess.Popen[str]:
    """Start another process that holds the lock until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(root)],
        cwd=PROJECT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_lock_names_its_holder_and_is_removed_on_release(tmp_path: Path) -> None:
    assert holder(tmp_path) is None
    with locked(tmp_path):
        found = holder(tmp_path)
        assert found is not None
        assert (found.host, found.pid) == (HERE, os.getpid())
    assert list(tmp_path.iterdir()) == []
    assert holder(tmp_path) is None
    assert list(tmp_path.iterdir()) == []  # reading the holder creates no file


def test_the_keys_of_the_lock_file_are_those_of_earlier_versions() -> None:
    theirs = Holder("another-host", 7, OTHER.since, "12", restarts=2, pid_namespace="pid:[1]")
    content = json.loads(theirs.content())
    assert [*content] == ["host", "pid", "since", "job", "life", "machine", "boot", "processes", "token"]
    assert (content["life"], content["processes"]) == (2, "pid:[1]")
    assert Holder.of(json.dumps(content).encode()) == theirs


def test_an_exception_releases_the_lock(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), locked(tmp_path):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    with locked(tmp_path):
        pass


def test_another_process_that_holds_the_lock_is_named_and_cannot_be_unlocked(tmp_path: Path) -> None:
    process = hold(tmp_path)
    who = f"{tmp_path} is in use by process {process.pid} on {HERE}, since 2.*`kill {process.pid}`"
    with pytest.raises(RefusedError, match=who), locked(tmp_path):
        pass
    with pytest.raises(RefusedError, match=who):
        unlock(tmp_path)
    found = holder(tmp_path)
    assert found is not None
    assert found.pid == process.pid
    process.communicate()
    assert process.returncode == 0
    with locked(tmp_path):
        pass


def test_a_killed_process_does_not_hold_the_lock(tmp_path: Path) -> None:
    process = hold(tmp_path)
    process.kill()
    process.communicate()
    assert (tmp_path / "lock").exists()
    assert holder(tmp_path) is None
    with locked(tmp_path):
        found = holder(tmp_path)
        assert found is not None
        assert found.pid == os.getpid()


@pytest.mark.parametrize("pid", [1, 2**30])
def test_a_stale_lock_of_this_host_is_taken_over_even_if_its_process_id_is_in_use(tmp_path: Path, pid: int) -> None:
    put_lock(tmp_path, Holder(HERE, pid, OTHER.since))
    assert holder(tmp_path) is None
    with locked(tmp_path):
        found = holder(tmp_path)
        assert found is not None
        assert found.pid == os.getpid()
        assert found.since != OTHER.since
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"host": 1}'])
def test_a_lock_without_a_valid_holder_is_taken_over(tmp_path: Path, content: str) -> None:
    (tmp_path / "lock").write_text(content)
    assert holder(tmp_path) is None
    with locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_lock_of_another_host_is_refused_and_removed_only_by_the_command(tmp_path: Path) -> None:
    put_lock(tmp_path, OTHER)
    assert holder(tmp_path) == OTHER
    advice = f"in use by {OTHER!s}".replace("+", r"\+") + f".*`pipeline unlock {tmp_path}`"
    with pytest.raises(RefusedError, match=advice), locked(tmp_path):
        pass
    assert holder(tmp_path) == OTHER
    shown = CliRunner().invoke(main, ["unlock", str(tmp_path)])
    assert (shown.exit_code, shown.output) == (0, f"Unlocked; the lock was held by {OTHER}.\n")
    assert list(tmp_path.iterdir()) == []
    shown = CliRunner().invoke(main, ["unlock", str(tmp_path)])
    assert (shown.exit_code, shown.output) == (0, f"{tmp_path} is not locked.\n")
    with locked(tmp_path):
        pass


@pytest.mark.parametrize(
    ("job", "restarts", "is_over"),
    [("12", 0, True), ("12", 1, True), ("12", 2, False), ("12", 3, False), ("13", 0, False), ("", 0, False)],
)
def test_only_a_later_restart_of_the_same_job_takes_over_its_lock_from_another_host(
    job: str, restarts: int, is_over: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    monkeypatch.setenv("SLURM_RESTART_COUNT", "2")
    theirs = Holder("another-host", 7, OTHER.since, job, restarts)
    put_lock(tmp_path, theirs)
    assert holder(tmp_path) == (None if is_over else theirs)
    if not is_over:
        named = f" in job {job}" if job else ""
        with pytest.raises(RefusedError, match=f"in use by process 7 on another-host{named}, since"), locked(tmp_path):
            pass
        return
    with locked(tmp_path):
        found = holder(tmp_path)
        assert found
        assert (found.host, found.job, found.restarts) == (HERE, "12", 2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ours", [None, "", "12"])
def test_without_a_restart_count_no_lock_is_taken_over(
    ours: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SLURM_RESTART_COUNT", raising=False)
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    if ours is not None:
        monkeypatch.setenv("SLURM_JOB_ID", ours)
    put_lock(tmp_path, Holder("another-host", 7, OTHER.since, "12"))
    with pytest.raises(RefusedError, match="another-host in job 12"), locked(tmp_path):
        pass


def test_a_live_process_of_the_same_batch_job_keeps_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_ID", "12")
    process = hold(tmp_path)
    with pytest.raises(RefusedError, match=f"in use by process {process.pid} on {HERE} in job 12"), locked(tmp_path):
        pass
    process.communicate()


def test_without_file_locks_one_of_two_concurrent_attempts_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_have_opened, first_has_tried = threading.Barrier(2), threading.Event()

    def none(*_: object) -> None:
        if not first_has_tried.is_set():
            both_have_opened.wait(10)
            first_has_tried.set()
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    def attempt(_: int) -> str:
        try:
            with locked(tmp_path):
                time.sleep(2 * LOCK_TIMEOUT_S)
                return "held"
        except RefusedError:
            return "refused"

    monkeypatch.setattr("kernel_pipeline.store.lock.fcntl.flock", none)
    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(attempt, range(2))) == ["held", "refused"]


def test_a_lock_file_that_is_removed_before_it_is_locked_is_created_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, flock, taken = tmp_path / "lock", fcntl.flock, []

    def late(descriptor: int, operation: int) -> None:
        taken.append(os.fstat(descriptor).st_ino)
        if len(taken) == 1:  # we have opened the file, and now its holder ends
            path.rename(tmp_path / "gone")  # its inode stays in use, so that no new file has the same
        flock(descriptor, operation)

    path.touch()
    monkeypatch.setattr("kernel_pipeline.store.lock.fcntl.flock", late)
    with locked(tmp_path):
        assert len(taken) == 2
        assert taken[0] == (tmp_path / "gone").stat().st_ino
        assert taken[1] == path.stat().st_ino
        monkeypatch.undo()
        with pytest.raises(RefusedError, match="is in use by process"), locked(tmp_path):
            pass


def test_a_lock_that_another_process_has_taken_over_is_not_removed(tmp_path: Path) -> None:
    with locked(tmp_path):
        (tmp_path / "lock").rename(tmp_path / "gone")
        put_lock(tmp_path, OTHER)
    assert holder(tmp_path) == OTHER


def test_a_full_disk_leaves_no_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("kernel_pipeline.store.lock.os.pwrite", full)
    with pytest.raises(StorageError, match="No space left"), locked(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.ENOTSUP, errno.ENOLCK])
def test_without_file_locks_the_existence_of_the_file_is_the_lock(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(*_: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr("kernel_pipeline.store.lock.fcntl.flock", none)
    with locked(tmp_path):
        found = holder(tmp_path)
        assert found is not None
        assert found.pid == os.getpid()
        with pytest.raises(RefusedError, match=f"may be in use by process {os.getpid()} on {HERE}"), locked(tmp_path):
            pass
    assert list(tmp_path.iterdir()) == []
    put_lock(tmp_path, Holder(HERE, os.getpid(), OTHER.since))  # it is unknown whether the process is alive
    with pytest.raises(RefusedError, match="may be in use"), locked(tmp_path):
        pass
    assert unlock(tmp_path) == Holder(HERE, os.getpid(), OTHER.since)
    with locked(tmp_path):
        pass
