"""What is refused before anything is started: a missing extra, an address that is not safe, a wrong file."""

import builtins
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster.address import scheduler_address
from kernel_pipeline.cluster.certificates import CERTIFICATES, fresh_certificates
from kernel_pipeline.cluster.errors import ProfileError
from kernel_pipeline.cluster.profile import Profile


def without(*hidden: str) -> Callable[..., Any]:
    """An import that does not find some modules."""
    real = builtins.__import__

    def find(name: str, *arguments: Any, **options: Any) -> Any:
        if name.partition(".")[0] in hidden:
            raise ImportError(name)
        return real(name, *arguments, **options)

    return find


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
def test_a_missing_extra_is_one_sentence(
    cluster: str, module: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without(module))
    result = CliRunner().invoke(main, ["run", "--cluster", cluster])
    assert result.exit_code == 2, result.output
    assert result.stderr == f"Error: --cluster {cluster} needs more packages: pip install 'kernel-pipeline[{extra}]'\n"


def test_encryption_without_its_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(builtins, "__import__", without("cryptography"))
    with pytest.raises(ProfileError, match="pip install cryptography, or give --insecure"):
        fresh_certificates(tmp_path).__enter__()


def test_certificates_are_for_their_owner_only_and_go(tmp_path: Path) -> None:
    old = tmp_path / f"{CERTIFICATES}old"
    old.mkdir()
    (old / "key").write_text("of a run that was killed")
    mask = os.umask(0)
    try:
        with fresh_certificates(tmp_path) as security:
            (folder,) = tmp_path.iterdir()
            assert folder != old
            assert folder.stat().st_mode & 0o777 == 0o700
            assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}
            assert security.require_encryption
    finally:
        os.umask(mask)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:1", "tls://far.away:8786"]
)
def test_an_address_that_is_safe(address: str) -> None:
    assert scheduler_address(Profile(backend="address", address=address)) == address


@pytest.mark.parametrize("address", ["tcp://10.0.0.7:8786", "tcp://far.away:8786", "tcp://[fe80::1]:8786"])
def test_a_foreign_scheduler_in_the_clear_is_refused(address: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="--insecure"):
        scheduler_address(Profile(backend="address", address=address))
    assert scheduler_address(Profile(backend="address", address=address, insecure=True)) == address
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    with pytest.raises(ProfileError, match="--insecure"):
        scheduler_address(Profile(backend="address", address=str(file)))


@pytest.mark.parametrize(
    "address", ["http://host:1", "tcp://host", "tls://:8786", "ftp://", "tcp://host:99999", "tcp://[::1"]
)
def test_what_is_no_address_of_a_scheduler(address: str) -> None:
    with pytest.raises(ProfileError, match="tls://HOST:PORT"):
        scheduler_address(Profile(backend="address", address=address))


@pytest.mark.parametrize("content", ["", "{}", "[]", "no json", '{"address": 7}'])
def test_what_is_no_scheduler_file(content: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(ProfileError, match="scheduler"):
        scheduler_address(Profile(backend="address", address=str(file)))


@pytest.mark.parametrize("arguments", [["--cluster", "tcp://far.away:8786"], ["--cluster", "pbs"]])
def test_a_refused_cluster_leaves_nothing_behind(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", without("dask_jobqueue"))
    assert CliRunner().invoke(main, ["run", *arguments]).exit_code == 2
    assert not list(tmp_path.iterdir())


def test_a_network_interface_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    profile = tmp_path / "mine.toml"
    profile.write_text('backend = "slurm"\nmemory = "1 GiB"\nwalltime = "1:00:00"\ninterface = "ib9"\n')
    result = CliRunner().invoke(main, ["run", "--cluster", "mine.toml"])
    assert result.exit_code == 2
    assert "Error: interface = 'ib9': this host has none of that name, but " in result.stderr
    assert list(tmp_path.iterdir()) == [profile]


def test_submit_is_for_slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["submit", "--cluster", "local"])
    assert result.exit_code == 2
    assert "submit is for Slurm" in result.stderr
    assert not list(tmp_path.iterdir())
