"""The driver as a Slurm job."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster import batch
from kernel_pipeline.cluster.errors import ClusterError
from kernel_pipeline.cluster.slurm import Driver, SlurmProfile

TIMED: dict[str, Any] = {"memory": "4 GiB", "walltime": "4:00:00", "queue": "long", "account": "me"}


def test_driver_job_is_requeued_before_its_wall_time_ends(tmp_path: Path) -> None:
    profile = SlurmProfile(**TIMED, driver=Driver(cores=3, memory="1 GB"))
    text = batch.driver_script(profile, ["run it", "--now"], tmp_path)
    lines = text.splitlines()
    for word in ("requeue", "time=4:00:00", "partition=long", "account=me", "cpus-per-task=3", "mem=954M"):
        assert f"#SBATCH --{word}" in lines
    assert "timeout --foreground --signal=TERM --kill-after=150 14100 'run it' --now" in lines
    assert 'if [ "$SECONDS" -ge 14100 ]; then scontrol requeue "$SLURM_JOB_ID"; fi' in lines
    assert lines[-1] == "exit $code"


def test_driver_can_have_a_separate_wall_time(tmp_path: Path) -> None:
    profile = SlurmProfile(**TIMED, driver=Driver(walltime="24:00:00"))
    assert "#SBATCH --time=24:00:00" in batch.driver_script(profile, ["run"], tmp_path)


def test_script_contains_no_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    assert "planted-secret" not in batch.driver_script(SlurmProfile(**TIMED), ["pipeline"], tmp_path)


def test_submit_needs_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["submit", "--cluster", "local"])
    assert result.exit_code == 2
    assert "`pipeline submit` works with Slurm only (--cluster slurm)" in result.stderr
    assert not list(tmp_path.iterdir())


def test_host_without_slurm_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClusterError, match=r"sbatch cannot be run .* on a host of the Slurm cluster"):
        batch.submit(tmp_path / "script.sh")
