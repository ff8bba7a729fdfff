"""Sweeps are submitted to a queue; scripts replace the commands of Slurm."""

import os
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from kernel_pipeline.cli.main import main
from kernel_pipeline.cli.options import resume_arguments
from tests.faults.harness import write_config

SQUEUE = """#!/bin/sh
case "$*" in *--jobs=71*) sed 's/^/71 /' "$(dirname "$0")/state";; esac
"""
SBATCH = """#!/bin/sh
cp "$2" "$(dirname "$0")/script"
echo 71
"""


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install commands that accept one job, and report the content of the file `state` as its state."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, text in {"squeue": SQUEUE, "sbatch": SBATCH}.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    (folder / "state").write_text("PENDING Resources\n")
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path)
    return folder


def submit(*more: str) -> Result:
    return CliRunner().invoke(main, ["submit", "tiny.toml", "--cluster", "slurm", "--out", "run", *more])


def test_the_job_resumes_the_run(slurm: Path, tmp_path: Path) -> None:
    done = submit("--fail-fast")
    assert done.exit_code == 0, done.output
    assert "Submitted as job 71." in done.output
    script = (slurm / "script").read_text()
    assert f"-m kernel_pipeline resume {tmp_path}/run --cluster slurm --fail-fast --verify quick\n" in script
    status = CliRunner().invoke(main, ["status", "run"]).output
    assert "job 71, PENDING Resources" in status


def test_the_run_is_not_changed_while_its_job_waits(slurm: Path, tmp_path: Path) -> None:
    assert submit().exit_code == 0
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    again = submit("--set", "seed=7", "--accept-changes")
    assert again.exit_code == 4
    assert "was already submitted: job 71, PENDING Resources" in again.stderr
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()} == before
    (slurm / "state").write_text("")  # the job is over
    assert submit("--set", "seed=7", "--accept-changes").exit_code == 0


def test_a_profile_takes_precedence_over_a_file_of_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("slurm", "mine.toml"):
        (tmp_path / name).touch()
    options = {"workers": None, "fail_fast": True, "insecure": False}
    assert resume_arguments({"cluster": "slurm", **options}) == ["--cluster", "slurm", "--fail-fast"]
    assert resume_arguments({"cluster": "mine.toml", **options})[1] == str(tmp_path / "mine.toml")
