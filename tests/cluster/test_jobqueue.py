"""The job scripts of all batch systems, tested as text, since only Slurm is available."""

import shlex
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster import job_script
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.config.profiles import parse_profile

COMMON: dict[str, Any] = {"cores": 2, "memory": "4 GiB", "setup": ["module load python"], "python": "/opt/a b/python"}
TIMED = COMMON | {"walltime": "4:00:00", "queue": "long", "account": "me"}


def script(logs: Path, **values: Any) -> str:
    text = job_script(parse_profile(values, "a test"), logs)
    assert text is not None
    return text


@pytest.mark.parametrize(
    ("backend", "directive", "words"),
    [
        ("slurm", "#SBATCH", ["-p long", "-A me", "--cpus-per-task=2", "--mem=4G", "-t 4:00:00", "--gres=x"]),
        ("pbs", "#PBS", ["-q long", "-A me", "-l select=1:ncpus=2:mem=4096MB", "-l walltime=4:00:00", "--gres=x"]),
        ("lsf", "#BSUB", ["-q long", '-P "me"', "-n 2", "-W 4:00", "--gres=x"]),
        ("sge", "#$", ["-q long", "-P me", "-l h_rt=4:00:00", "--gres=x"]),
    ],
)
def test_script_contains_all_settings_of_the_profile(
    backend: str, directive: str, words: list[str], tmp_path: Path
) -> None:
    text = script(tmp_path, backend=backend, directives=["--gres=x"], **TIMED)
    lines = text.splitlines()
    for word in words:
        assert f"{directive} {word}" in lines
    assert lines.index("module load python") < lines.index("export OMP_NUM_THREADS=1")


def test_script_of_htcondor_uses_its_own_syntax(tmp_path: Path) -> None:
    text = script(tmp_path, backend="htcondor", directives=["Requirements = Memory > 1"], **COMMON)
    assert "Requirements = Memory > 1" in text
    assert "MY.DaskWorkerCores = 2" in text
    assert f"MY.DaskWorkerMemory = {4 << 30}" in text
    assert "module load python; export OMP_NUM_THREADS=1" in text


def test_each_core_has_a_worker_process_with_a_limited_lifetime(tmp_path: Path) -> None:
    *_, command = script(tmp_path, backend="slurm", **TIMED).splitlines()
    words = shlex.split(command)
    options = dict(pairwise(words))
    assert words[:3] == ["/opt/a b/python", "-m", "distributed.cli.dask_worker"]
    assert (options["--nworkers"], options["--nthreads"], options["--memory-limit"]) == ("2", "1", "2.00GiB")
    assert (options["--lifetime"], options["--lifetime-stagger"]) == ("14100s", "150s")
    assert words[3].startswith("tls://")
    assert Path(options["--tls-key"]).is_relative_to(tmp_path)
    assert "--no-dashboard" in words


@pytest.mark.parametrize("name", ["a run", "R&D", "it's", "100%", "a;b", "$HOME"])
def test_folder_with_special_characters_of_a_shell_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match=r"letters, digits .*\. Choose another directory with --out"):
        script(tmp_path / name, backend="slurm", **TIMED)


def test_encryption_is_disabled_on_request(tmp_path: Path) -> None:
    text = script(tmp_path, backend="slurm", insecure=True, **TIMED)
    assert "tcp://" in text
    assert "tls" not in text


def test_unencrypted_dashboard_of_a_worker_listens_on_loopback_only(tmp_path: Path) -> None:
    words = script(tmp_path, backend="slurm", **TIMED).split()
    assert words[words.index("--dashboard-address") + 1] == "127.0.0.1:0"


@pytest.mark.parametrize(("options", "jobs"), [([], "4 jobs"), (["--workers", "1"], "1 job")])
def test_plan_prints_the_script_and_writes_nothing(
    options: list[str], jobs: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    shown = CliRunner().invoke(main, ["plan", "--cluster", "slurm", *options])
    assert shown.exit_code == 0, shown.output
    assert f"Job script, for {jobs}:" in shown.output
    assert "#SBATCH -t 4:00:00" in shown.output
    assert f"{tmp_path}/runs/default-" in shown.output
    assert not list(tmp_path.iterdir())


def test_script_contains_no_environment_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "planted-secret")
    assert "planted-secret" not in script(tmp_path, backend="slurm", **TIMED)
