"""Schedulers that are already running: which addresses are accepted, and how often a scheduler is contacted."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from click.testing import CliRunner
from distributed import Client, LocalCluster

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster import address as module
from kernel_pipeline.cluster import open_cluster, released, worker_limits
from kernel_pipeline.cluster.address import Address, AddressProfile, Tls, scheduler_address
from kernel_pipeline.cluster.errors import ClusterError, ProfileError
from kernel_pipeline.cluster.settings import LOOPBACK_DASHBOARD
from tests.helpers.build import put_config, synthetic_values


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:1", "tls://far.away:8786"]
)
def test_a_safe_address_is_accepted(address: str) -> None:
    assert scheduler_address(AddressProfile(address=address)) == address


@pytest.mark.parametrize("address", ["tcp://10.0.0.7:8786", "tcp://far.away:8786", "tcp://[fe80::1]:8786"])
def test_another_host_without_encryption_is_rejected(address: str, tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="--insecure"):
        scheduler_address(AddressProfile(address=address))
    assert scheduler_address(AddressProfile(address=address, insecure=True)) == address
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    with pytest.raises(ProfileError, match="--insecure"):
        scheduler_address(AddressProfile(address=str(file)))


@pytest.mark.parametrize(
    "address", ["http://host:1", "tcp://host", "tls://:8786", "ftp://", "tcp://host:99999", "tcp://[::1"]
)
def test_invalid_address_is_rejected(address: str) -> None:
    with pytest.raises(ProfileError, match="tls://HOST:PORT"):
        scheduler_address(AddressProfile(address=address))


@pytest.mark.parametrize("content", ["", "{}", "[]", "no json", '{"address": 7}'])
def test_file_that_is_not_a_scheduler_file_is_rejected(content: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(content)
    with pytest.raises(ProfileError, match="scheduler"):
        scheduler_address(AddressProfile(address=str(file)))


def test_certificates_that_are_missing_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    address = "tls://127.0.0.1:1"
    with pytest.raises(ProfileError, match=f"{address} needs certificates"):
        worker_limits(AddressProfile(address=address))
    with pytest.raises(ProfileError, match=r"there is no file none\.pem"):
        worker_limits(AddressProfile(address=address, tls=Tls(ca="none.pem", cert="none.pem", key="none.pem")))


def scheduler() -> LocalCluster:
    return LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=LOOPBACK_DASHBOARD
    )


def connection(profile: AddressProfile) -> Client:
    assert isinstance(profile.implementation, Address)
    assert profile.implementation._client is not None
    return profile.implementation._client


@pytest.fixture
def connections() -> Iterator[list[Client]]:
    """All clients that are created, in order."""
    made: list[Client] = []

    def connect(*arguments: Any, **options: Any) -> Client:
        made.append(Client(*arguments, **options))
        return made[-1]

    with patch("distributed.Client", connect):
        yield made


def test_checks_and_run_share_a_connection(tmp_path: Path, connections: list[Client]) -> None:
    with scheduler() as started:
        profile = AddressProfile(address=started.scheduler_address)
        assert worker_limits(profile) == worker_limits(profile)
        with open_cluster(profile, tmp_path) as opened:
            assert (opened.max_workers, opened.is_external) == (1, True)
            assert opened.client is connections[0]
            assert len(connections) == 1
        assert connections[0].status == "closed"
        with open_cluster(profile, tmp_path) as again:  # like a run that repairs its arrays
            assert again.client.submit(int, "7").result() == 7
    assert len(connections) == 2


def test_a_sweep_contacts_the_scheduler_once(tmp_path: Path, connections: list[Client]) -> None:
    config = put_config(tmp_path, synthetic_values())
    with scheduler() as started:
        address = started.scheduler_address
        done = CliRunner().invoke(main, ["run", str(config), "--cluster", address, "--out", str(tmp_path / "run")])
    assert done.exit_code == 0, done.output
    assert len(connections) == 1
    assert connections[0].status == "closed"


def test_a_connection_that_no_run_uses_is_closed() -> None:
    with scheduler() as started:
        profile = AddressProfile(address=started.scheduler_address)
        with released(profile):
            assert worker_limits(profile)[0] == 2
            client = connection(profile)
            assert client.status == "running"
        assert client.status == "closed"


def test_a_connection_that_was_lost_is_replaced(tmp_path: Path) -> None:
    with scheduler() as started:
        profile = AddressProfile(address=started.scheduler_address)
        worker_limits(profile)
        connection(profile).close()
        with open_cluster(profile, tmp_path) as opened:
            assert opened.client.status == "running"


def test_a_scheduler_that_does_not_listen_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CONNECT_TIMEOUT_S", 0.2)
    with pytest.raises(ClusterError, match=r"cannot connect to the scheduler tcp://127\.0\.0\.1:1: "):
        worker_limits(AddressProfile(address="tcp://127.0.0.1:1"))
