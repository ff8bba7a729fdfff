"""Disks that fill up, become read-only or vanish during a run: the message is clear and the same command resumes."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernel_pipeline.run.foreign_files import foreign_files
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import assert_same, command, finished_names, leftover_processes, rewrite_ledger, wait_until
from tests.helpers.sweeps import entries_of, pipeline, start

pytestmark = pytest.mark.faults

PAGE = 4096
# Number of pages: more than lock, logs and ledger need until a stage has started, fewer than each stage writes.
SPARE_PAGES = 6
STAGES = ("tiles", "reduce", "weights", "combine", "fits")


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A small file system."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", place], capture_output=True, text=True)
    if mounted.returncode:
        pytest.skip(f"needs root and permission to mount a tmpfs: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def fill(disk: Path, leave: int) -> Path:
    """Fill a disk up to a number of free pages, and return the file that fills it."""
    filler = disk / "filler"
    filler.unlink(missing_ok=True)
    free = os.statvfs(disk)
    filler.write_bytes(bytes(free.f_bavail * free.f_frsize - leave * PAGE))
    return filler


def forget(root: Path, *stages: str) -> None:
    """Remove these stages of `wave`, and the tables, from a finished run."""
    forgotten = [f"{stage}/wave/" for stage in stages]
    for name, entry in entries_of(root).items():
        if name.startswith((*forgotten, "tables")):
            for key in entry.digests:
                (root / key).unlink()
    rewrite_ledger(root, lambda name: not name.startswith((*forgotten, "tables")))


def pages(root: Path, stage: str) -> int:
    """Return the number of pages that the files of a stage of `wave` occupy."""
    sizes = [
        int(digest.rpartition(":")[2])
        for name, entry in entries_of(root).items()
        for digest in entry.digests.values()
        if name.startswith(f"{stage}/wave/")
    ]
    return sum(-(-size // PAGE) for size in sizes)


def assert_stopped_with_a_clear_message(done: subprocess.CompletedProcess[str], root: Path) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert f"Error: cannot write {root}" in done.stderr
    assert "The remaining arrays need about " in done.stderr
    assert "the same command resumes" in done.stderr


def test_disk_that_fills_up_in_any_stage_stops_the_run_which_resumes_with_more_space(
    undisturbed: Path, disk: Path
) -> None:
    root = shutil.copytree(undisturbed, disk / "run")
    forget(root, *STAGES)
    wanted = {
        stage: {name for name in finished_names(undisturbed) if name.startswith(f"{stage}/wave/")} for stage in STAGES
    }
    for before, stage in zip(("", *STAGES), STAGES, strict=False):
        for left_over in foreign_files(
            LocalStorage(root), LocalStorage(root), Ledger(LocalStorage(root)).named_files()
        ):
            (root / left_over.key).unlink()  # so that the number of free pages is exact
        fill(disk, SPARE_PAGES + pages(undisturbed, before))
        done = pipeline("resume", root, "--workers", "1", cwd=disk.parent)
        assert_stopped_with_a_clear_message(done, root)
        if before != "combine":  # fits of single kernels may take the space before the combined kernels
            assert wanted.get(before, set()) <= finished_names(root), f"{before} should fit on the disk"
        assert not wanted[stage] <= finished_names(root), f"{stage} should not fit on the disk"
        assert not (root / "lock").exists()
    (disk / "filler").unlink()
    done = pipeline("resume", root, cwd=disk.parent)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)


def test_run_on_a_full_disk_is_refused_with_a_clear_message(undisturbed: Path, disk: Path) -> None:
    root = shutil.copytree(undisturbed, disk / "run")
    forget(root, "fits")
    ledger = (root / "ledger.jsonl").read_bytes()
    fill(disk, 0)
    for arguments in (("resume", root), ("run", undisturbed.parent / "tiny.toml", "--out", root)):
        done = pipeline(*arguments, cwd=disk.parent)
        assert done.returncode in (1, 4), done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        assert str(root) in done.stderr
    assert (root / "ledger.jsonl").read_bytes() == ledger


@pytest.mark.parametrize(("stages", "limit"), [(STAGES, 12), (("fits",), 0)], ids=["a chunk", "the ledger"])
def test_file_size_limit_stops_the_run_with_a_clear_message(
    undisturbed: Path, tmp_path: Path, stages: tuple[str, ...], limit: int
) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    forget(root, *stages)
    blocks = limit or (root / "ledger.jsonl").stat().st_size // 1024 + 2
    code = f"import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (1024 * {blocks},) * 2); "
    done = subprocess.run(
        [sys.executable, "-c", code + "from kernel_pipeline.cli.main import main; main()", "resume", root],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert_stopped_with_a_clear_message(done, root)
    assert "File too large" in done.stderr
    again = pipeline("resume", root, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert_same(root, undisturbed)


def test_read_only_directory_can_be_read_and_is_refused_for_writing(undisturbed: Path, disk: Path) -> None:
    root = shutil.copytree(undisturbed, disk / "run")
    rewrite_ledger(root, lambda name: name != "fits/wave/regression/unif/0")
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    assert command("verify", root).exit_code == 0
    assert "1 is left" in command("status", root).output
    config = undisturbed.parent / "tiny.toml"
    for arguments in (
        ("run", config, "--out", root),
        ("run", config, "--out", disk / "new"),
        ("resume", root),
        ("verify", root, "--repair"),
    ):
        done = pipeline(*arguments, cwd=disk.parent)
        assert done.returncode in (1, 4), done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert "Read-only file system" in done.stderr
        assert str(disk) in done.stderr


def test_run_directory_that_vanishes_stops_the_run_and_is_not_created_again(undisturbed: Path, tmp_path: Path) -> None:
    root = shutil.copytree(undisturbed, tmp_path / "run")
    forget(root, *STAGES)
    process = start("resume", root, "--workers", "1", cwd=tmp_path)
    assert wait_until(lambda: "tiles/wave/0" in finished_names(root), 60)
    root.rename(tmp_path / "away")
    output, errors = process.communicate(timeout=60)
    assert process.returncode == 1, output + errors
    assert "Traceback" not in output + errors
    assert errors.startswith("Error: ")
    assert str(root) in errors
    assert not root.exists()
    assert leftover_processes(tmp_path) == []
    (tmp_path / "away").rename(root)
    again = pipeline("resume", root, cwd=tmp_path)
    assert again.returncode == 0, again.stderr
    assert_same(root, undisturbed)
