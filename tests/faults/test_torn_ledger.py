"""Faults of the file system below ledger and lock: a page lost in a power cut, disk errors, unsupported locks."""

import errno
import fcntl
import os
import shutil
from io import FileIO
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.store import journal
from kernel_pipeline.store.lock import Holder
from tests.faults.harness import assert_same, command, no_workers, rewrite_ledger
from tests.helpers.sweeps import entries_of

pytestmark = pytest.mark.faults

PAGE = 4096


@pytest.fixture
def root(undisturbed: Path, tmp_path: Path) -> Path:
    return shutil.copytree(undisturbed, tmp_path / "run")


def zero_page(root: Path, last_lines: int) -> None:
    """Replace the page before the last lines by zeros, as a file system may after a power cut."""
    ledger = root / "ledger.jsonl"
    content = ledger.read_bytes()
    end = len(b"".join(content.splitlines(True)[:-last_lines])) // PAGE * PAGE
    ledger.write_bytes(content[: end - PAGE] + bytes(PAGE) + content[end:])


@pytest.mark.parametrize("arguments", [("resume",), ("run", "--out"), ("verify", "--repair")], ids=" ".join)
def test_tasks_of_a_zeroed_ledger_page_are_recomputed_by_the_same_command(
    root: Path, undisturbed: Path, arguments: tuple[str, ...]
) -> None:
    zero_page(root, last_lines=3)
    lost = entries_of(undisturbed).keys() - entries_of(root).keys()
    assert 0 < len(lost) < 31
    verified = command("verify", root)
    assert verified.exit_code == 4, verified.output
    assert "ledger.jsonl line " in verified.output
    with no_workers():
        config = (undisturbed.parent / "tiny.toml",) if arguments[0] == "run" else ()
        done = command(arguments[0], *config, *arguments[1:], root)
    assert done.exit_code == 0, done.output
    assert "ledger.jsonl, line " in done.output
    assert b"\0" not in (root / "ledger.jsonl").read_bytes()
    assert_same(root, undisturbed)


def test_ledger_with_a_zeroed_first_page_is_resumed_from_the_other_files(root: Path, undisturbed: Path) -> None:
    ledger = root / "ledger.jsonl"
    ledger.write_bytes(bytes(PAGE) + ledger.read_bytes()[PAGE:])
    with no_workers():
        done = command("resume", root)
    assert done.exit_code == 0, done.output
    assert_same(root, undisturbed)


def test_changed_line_is_still_refused(root: Path) -> None:
    ledger = root / "ledger.jsonl"
    content = bytearray(ledger.read_bytes())
    content[len(content) // 2] = 0  # a single byte is not a lost page
    ledger.write_bytes(content)
    done = command("resume", root)
    assert done.exit_code == 4
    assert "is not a ledger line: another program changed the file" in done.output


class FailingFile(FileIO):
    """A file whose disk cannot be written."""

    def write(self, content: Any) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO), self.name)


def test_disk_error_is_not_reported_as_a_full_disk(
    root: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rewrite_ledger(root, lambda name: name not in ("fits/wave/regression/unif/0", "tables"))
    monkeypatch.setattr(journal.FileJournal, "_open", lambda found: FailingFile(found.path, "r+"))
    with no_workers():
        done = command("resume", root)
    assert done.exit_code == 1
    assert f"cannot read or write {root}/ledger.jsonl: Input/output error" in done.output
    assert "space" not in done.output
    assert "free" not in done.output
    assert "Check the disk" in done.output
    monkeypatch.undo()
    with no_workers():
        assert command("resume", root).exit_code == 0
    assert_same(root, undisturbed)


def lock_that_fails(code: int) -> Any:
    def flock(descriptor: int, operation: int) -> None:
        raise OSError(code, os.strerror(code))

    return flock


@pytest.mark.parametrize("held", [False, True], ids=["no lock file", "a lock file"])
def test_flock_error_is_not_reported_as_a_held_lock(root: Path, monkeypatch: pytest.MonkeyPatch, held: bool) -> None:
    if held:
        (root / "lock").write_bytes(Holder.this_process().content())
    monkeypatch.setattr(fcntl, "flock", lock_that_fails(errno.EIO))
    for arguments in (("resume", root), ("unlock", root)) if held else (("resume", root),):
        done = command(*arguments)
        assert done.exit_code == 1, done.output
        assert f"{root}/lock cannot be locked: Input/output error" in done.output
        assert "in use" not in done.output
    assert (root / "lock").exists() == held


def test_lock_file_without_lock_support_is_reported_as_possibly_in_use(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (root / "lock").write_bytes(Holder.this_process().content())
    monkeypatch.setattr(fcntl, "flock", lock_that_fails(errno.ENOLCK))
    done = command("resume", root)
    assert done.exit_code == 4, done.output
    assert "may be in use" in done.output
    assert "its file system does not support locks" in done.output
    assert f"`pipeline unlock {root}`" in done.output
    assert command("unlock", root).exit_code == 0
    with no_workers():
        assert command("resume", root).exit_code == 0


def test_disk_error_while_writing_the_lock_is_reported(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pwrite(descriptor: int, content: bytes, offset: int) -> int:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pwrite", pwrite)
    done = command("resume", root)
    assert done.exit_code == 1
    assert "Input/output error" in done.output
    assert "space" not in done.output.lower()
