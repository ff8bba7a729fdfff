import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from kernel_pipeline.errors import RefusedError, StorageError
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_state import LedgerState
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.build import PROJECT


def entry(name: str, seconds: float = 1.0) -> TaskReport:
    return TaskReport(
        task=name,
        identity="i",
        digests={"gram.zarr/k": "ab:2"},
        result_json=b'{"x": 0.1}',
        seconds=seconds,
        peak_memory=5,
    )


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "ledger.jsonl"


def append(path: Path, *entries: TaskReport) -> None:
    ledger = Ledger(LocalStorage(path.parent))
    try:
        ledger.append(*entries)
    finally:
        ledger.close()


def read(path: Path) -> dict[str, TaskReport]:
    return Ledger(LocalStorage(path.parent)).read().tasks


def test_appended_entries_are_read_back(path: Path) -> None:
    assert read(path) == {}
    append(path, entry("a"))
    append(path, entry("b"), entry("c"))
    assert read(path) == {name: entry(name) for name in "abc"}


def test_each_entry_is_one_line_of_the_same_file(path: Path) -> None:
    ledger = Ledger(LocalStorage(path.parent))
    assert ledger.read() == LedgerState()
    ledger.append(entry("a"), entry("b"))
    ledger.append()
    ledger.append(entry("c"))
    assert ledger.read().tasks == read(path)
    ledger.close()
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["name"] for line in lines] == ["a", "b", "c"]
    assert {tuple(line)[-1] for line in lines} == {"check"}


def test_the_latest_line_counts(path: Path) -> None:
    append(path, entry("a", 1.0), entry("a", 2.0))
    assert read(path)["a"].seconds == 2.0


def test_files_of_earlier_lines_are_named_too(path: Path) -> None:
    changed = [replace(entry(name), digests=digests) for name, digests in (("a", {"gram.zarr/l": "cd:2"}), ("b", {}))]
    append(path, entry("a"), *changed)
    assert set(Ledger(LocalStorage(path.parent)).named_files()) == {"gram.zarr/k", "gram.zarr/l"}


@pytest.mark.parametrize("cut", [1, 10, 40])
def test_an_incomplete_last_line_is_ignored_and_removed_by_the_next_append(path: Path, cut: int) -> None:
    append(path, entry("a"), entry("b"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert read(path) == {"a": entry("a")}
    append(path, entry("c"))
    assert read(path) == {"a": entry("a"), "c": entry("c")}


def test_every_flipped_bit_inside_a_line_is_detected(path: Path) -> None:
    append(path, entry("a"))
    line = path.read_bytes()
    append(path, entry("b"))
    content = path.read_bytes()
    for place in range(len(line) - 1):
        for bit in range(8):
            changed = bytearray(content)
            changed[place] ^= 1 << bit
            path.write_bytes(changed)
            with pytest.raises(RefusedError, match="line 1 is not a ledger line"):
                read(path)


def test_a_missing_line_break_is_detected(path: Path) -> None:
    append(path, entry("a"), entry("b"))
    path.write_bytes(path.read_bytes().replace(b"\n", b"", 1))
    with pytest.raises(RefusedError, match="line 1 is not a ledger line"):
        read(path)


@pytest.mark.parametrize("garbage", [b"garbage", b"", b"{}", b'{"name": 1}', b"[]", b"1", b"\xff\xfe"])
def test_garbage_in_the_middle_is_refused_with_its_line_until_it_is_dropped(path: Path, garbage: bytes) -> None:
    append(path, entry("a"))
    path.write_bytes(path.read_bytes() + garbage + b"\n")
    append(path, entry("b"))
    with pytest.raises(RefusedError, match=f"line 2 is not .*`pipeline verify {path.parent} --repair`"):
        read(path)
    assert Ledger(LocalStorage(path.parent)).drop_garbage() == [2]
    assert read(path) == {"a": entry("a"), "b": entry("b")}


def test_a_ledger_without_garbage_is_not_changed(path: Path) -> None:
    assert Ledger(LocalStorage(path.parent)).drop_garbage() == []
    assert not path.exists()
    append(path, entry("a"))
    before = (path.read_bytes(), path.stat().st_ino)
    assert Ledger(LocalStorage(path.parent)).drop_garbage() == []
    assert (path.read_bytes(), path.stat().st_ino) == before


def test_a_number_that_json_cannot_represent_is_an_error_and_leaves_the_ledger_intact(path: Path) -> None:
    append(path, entry("a"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        append(path, entry("b"), entry("c", float("nan")))
    assert read(path) == {"a": entry("a")}


@pytest.mark.parametrize("how", ["removed", "moved", "replaced"])
def test_a_ledger_that_is_moved_or_removed_is_detected(path: Path, how: str) -> None:
    ledger = Ledger(LocalStorage(path.parent))
    ledger.append(entry("a"))
    content = path.read_bytes()
    if how == "removed":
        path.unlink()
    else:
        path.rename(path.with_name("elsewhere"))
    if how == "replaced":
        path.write_bytes(content)
    with pytest.raises(StorageError, match="moved or removed during the run"):
        ledger.append(entry("b"))
    ledger.close()
    assert {found.read_bytes() for found in path.parent.iterdir()} <= {content}


def test_appended_lines_are_flushed_to_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushed = []

    def fsync(descriptor: int) -> None:
        if os.fstat(descriptor).st_ino == path.stat().st_ino:
            flushed.append(path.read_bytes())

    append(path, entry("a"))
    monkeypatch.setattr("kernel_pipeline.store.journal.os.fsync", fsync)
    append(path, entry("b"), entry("c"))
    assert flushed == [path.read_bytes()]


def test_a_failed_flush_leaves_only_the_earlier_lines(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(LocalStorage(path.parent))
    ledger.append(entry("a"))

    def fail(_: int) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr("kernel_pipeline.store.journal.os.fsync", fail)
        with pytest.raises(OSError, match="Input/output error"):
            ledger.append(entry("b"))
    assert read(path) == ledger.read().tasks == {"a": entry("a")}
    ledger.append(entry("c"))
    ledger.close()
    assert read(path) == {"a": entry("a"), "c": entry("c")}


def test_a_full_disk_leaves_only_whole_lines(path: Path) -> None:
    append(path, entry("a"))
    size = path.stat().st_size
    # In a separate process, whose files may grow by half a line, so that only the first part can be written.
    script = f"""
import resource, signal
from pathlib import Path
from tests.pipeline.store.test_ledger import Ledger, LocalStorage, entry
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
ledger = Ledger(LocalStorage({str(path.parent)!r}))
resource.setrlimit(resource.RLIMIT_FSIZE, ({size * 3 // 2}, resource.RLIM_INFINITY))
try:
    ledger.append(entry("b"))
except OSError as error:
    print(error.errno, Path({str(path)!r}).stat().st_size)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
ledger.append(entry("c"))
"""
    settings: dict[str, Any] = {"cwd": PROJECT, "capture_output": True, "text": True, "check": True}
    done = subprocess.run([sys.executable, "-c", script], **settings)
    assert done.stdout.split() == [str(errno.EFBIG), str(size)]
    assert read(path) == {"a": entry("a"), "c": entry("c")}
