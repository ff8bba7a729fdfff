"""Common behaviour of all backends, and requests that are rejected before anything is started."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster import job_script
from kernel_pipeline.cluster.backend import BUILT_IN, Backend, find_backend
from kernel_pipeline.cluster.profile import Profile, allowed_keys, make_profile
from kernel_pipeline.config.profiles import find_profile, known_profiles


def test_every_backend_states_keys_that_its_profiles_have() -> None:
    for name in BUILT_IN:
        backend = find_backend(name)
        model = backend.PROFILE or Profile
        assert set(model.model_fields) >= backend.KEYS
        assert set(allowed_keys(name)) >= backend.REQUIRED_KEYS
        assert model is Profile or model.model_fields["backend"].default == name


@pytest.mark.parametrize("used", ["", "slurm"])
def test_name_of_a_built_in_backend_is_reserved_before_and_after_its_use(used: str) -> None:
    code = (
        "from kernel_pipeline.cluster.backend import REGISTERED, Backend, backend_names, find_backend, register\n"
        f"{used!r} and find_backend({used!r})\n"
        "print(*REGISTERED)\n"
        "try:\n"
        "    register('slurm')(type('Mine', (Backend,), {}))\n"
        "except ValueError as error:\n"
        "    print(error)\n"
        "register('mine')(type('Mine', (Backend,), {}))\n"
        "print(backend_names()[0], backend_names()[-1], find_backend('slurm').__module__)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == [
        used,
        "there is already a cluster backend 'slurm'",
        "local mine kernel_pipeline.cluster.slurm",
    ]


def test_only_backends_with_jobs_have_a_job_script(tmp_path: Path) -> None:
    scripts = {name: job_script(find_profile(name), tmp_path) for name in known_profiles()}
    assert {name for name, script in scripts.items() if script} == {"slurm", "pbs", "lsf", "sge", "htcondor"}


def test_a_profile_keeps_one_instance_of_its_backend() -> None:
    profile = Profile(backend="threads", jobs=2)
    assert profile.implementation is profile.implementation
    assert profile == Profile(backend="threads", jobs=2), "using a profile does not change it"


def test_the_base_class_starts_nothing(tmp_path: Path) -> None:
    backend = Backend(Profile())
    backend.assume_role()
    backend.check_system()
    backend.warm_up(())
    backend.check_driver(tmp_path)
    backend.close()
    assert backend.job_script(tmp_path) is None
    with pytest.raises(NotImplementedError):
        backend.worker_limits()
    with pytest.raises(NotImplementedError):
        backend.open_workers(tmp_path)


def test_a_profile_has_the_fields_of_its_backend() -> None:
    assert type(make_profile({"backend": "slurm", "memory": "1 GiB", "walltime": "1:00:00"})).__name__ == "SlurmProfile"
    with pytest.raises(ValueError, match="a profile of backend 'slurm' is a SlurmProfile"):
        Profile(backend="slurm", memory="1 GiB", walltime="1:00:00")


@pytest.mark.parametrize(
    ("cluster", "module", "extra"),
    [
        ("slurm", "dask_jobqueue", "hpc"),
        ("pbs", "dask_jobqueue", "hpc"),
        ("gateway", "dask_gateway", "gateway"),
        ("kubernetes", "dask_kubernetes", "kubernetes"),
        ("mpi", "dask_mpi", "mpi"),
    ],
)
def test_missing_extra_is_reported_in_one_sentence(
    cluster: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, module, None)
    result = CliRunner().invoke(main, ["run", "--cluster", cluster])
    assert result.exit_code == 2, result.output
    assert result.stderr == f"Error: --cluster {cluster} needs more packages: pip install 'kernel-pipeline[{extra}]'\n"


@pytest.mark.parametrize("arguments", [["--cluster", "tcp://far.away:8786"], ["--cluster", "pbs"]])
def test_a_rejected_cluster_leaves_nothing_behind(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", None)
    assert CliRunner().invoke(main, ["run", *arguments]).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_missing_network_interface_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile = tmp_path / "mine.toml"
    profile.write_text('backend = "slurm"\nmemory = "1 GiB"\nwalltime = "1:00:00"\ninterface = "ib9"\n')
    result = CliRunner().invoke(main, ["run", "--cluster", "mine.toml"])
    assert result.exit_code == 2
    assert "Error: interface = 'ib9': this host has no such interface. Available: " in result.stderr
    assert list(tmp_path.iterdir()) == [profile]
