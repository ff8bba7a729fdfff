"""The environment of a run: its output, limits of the process, shared memory, and folder names that are not UTF-8."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.faults.harness import assert_same, command, rewrite_ledger
from tests.helpers.build import PROJECT

pytestmark = pytest.mark.faults

PIPELINE = f"{sys.executable} -c 'from kernel_pipeline.cli.main import main; main()'"
LAST_FIT = "fits/wave/regression/unif/0"


def shell(script: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a line of bash in which `pipeline` is the command of this source tree."""
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", f'pipeline() {{ {PIPELINE} "$@"; }}\n{script}'],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(PROJECT)},
        capture_output=True,
        text=True,
        errors="surrogateescape",
        timeout=100,
    )


@pytest.fixture
def unfinished(undisturbed: Path, tmp_path: Path) -> Path:
    """A run whose last fit and tables are missing."""
    root = shutil.copytree(undisturbed, tmp_path / "run")
    rewrite_ledger(root, lambda name: name not in (LAST_FIT, "tables"))
    shutil.rmtree(root / "results")
    return root


@pytest.mark.parametrize("reader", ["head -1", "true"])
def test_run_with_a_closed_output_pipe_is_completed(unfinished: Path, undisturbed: Path, reader: str) -> None:
    done = shell(f"(sleep 1; pipeline resume run --cluster threads; echo code $? >&2) | {reader}", unfinished.parent)
    assert "code 0" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert_same(unfinished, undisturbed)


def test_run_with_unwritable_output_is_completed_with_a_note(unfinished: Path, undisturbed: Path) -> None:
    done = shell("pipeline resume run --cluster threads > /dev/full", unfinished.parent)
    assert done.returncode == 0, done.stderr
    assert done.stderr == (
        "note: cannot write to standard output: No space left on device. The command continues without output\n"
    )
    assert_same(unfinished, undisturbed)


def test_run_without_standard_streams_is_completed(unfinished: Path, undisturbed: Path) -> None:
    done = shell("pipeline resume run --cluster threads >&- 2>&- <&-", unfinished.parent)
    assert done.returncode == 0
    assert_same(unfinished, undisturbed)


@pytest.mark.parametrize("arguments", ["status run", "config show", "runs ."])
def test_command_that_only_prints_fails_if_output_is_unwritable(undisturbed: Path, arguments: str) -> None:
    done = shell(f"pipeline {arguments} > /dev/full", undisturbed.parent)
    assert done.returncode == 1, done.stderr
    assert "cannot write to standard output: No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    assert "run:" not in done.stderr
    read_in_part = shell(f"(sleep 1; pipeline {arguments}) | true", undisturbed.parent)
    assert "Traceback" not in read_in_part.stderr
    assert read_in_part.stderr == ""


def test_a_run_with_too_few_open_files_is_refused_with_a_clear_message(unfinished: Path) -> None:
    ledger = (unfinished / "ledger.jsonl").read_bytes()
    done = shell("ulimit -n 32; pipeline resume run --workers 2", unfinished.parent)
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "may open only 32" in done.stderr
    assert "ulimit -n" in done.stderr
    assert (unfinished / "ledger.jsonl").read_bytes() == ledger


def test_soft_limit_of_open_files_is_raised(unfinished: Path, undisturbed: Path) -> None:
    done = shell("ulimit -S -n 32; pipeline resume run --workers 2", unfinished.parent)
    assert done.returncode == 0, done.stderr
    assert_same(unfinished, undisturbed)


def test_missing_shared_memory_is_reported(unfinished: Path, undisturbed: Path) -> None:
    without = "umount /dev/shm && mount -t tmpfs -o ro,mode=555 none /dev/shm"
    if shell(f"unshare -m bash -c '{without}'", unfinished.parent).returncode:
        pytest.skip("needs root and permission to mount in a new namespace")
    resume = f"{PIPELINE} resume run".replace("'", "'\\''")
    done = shell(f"unshare -m bash -c '{without} && {resume} --workers 2'", unfinished.parent)
    assert done.returncode == 5, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "/dev/shm" in done.stderr
    assert "--cluster threads" in done.stderr
    done = shell(f"unshare -m bash -c '{without} && {resume} --cluster threads'", unfinished.parent)
    assert done.returncode == 0, done.stderr
    assert_same(unfinished, undisturbed)


def test_a_run_in_a_folder_whose_name_is_not_utf8(unfinished: Path, undisturbed: Path) -> None:
    folder = unfinished.parent / os.fsdecode(b"caf\xe9")
    folder.mkdir()
    root = unfinished.rename(folder / "run")
    assert "`pipeline resume $'" in command("status", root).output
    done = shell("cd $'caf\\xe9'; pipeline resume \"$PWD/run\" --workers 1", folder.parent)
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)
    again = shell("pipeline verify $'caf\\xe9/run'; pipeline runs $'caf\\xe9'", folder.parent)
    assert again.returncode == 0, again.stderr
