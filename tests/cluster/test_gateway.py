"""The requests to a Dask Gateway, tested with a mock."""

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import dask
import pytest

from kernel_pipeline.cluster import open_cluster, worker_limits
from kernel_pipeline.cluster.errors import ClusterError, ProfileError
from kernel_pipeline.config.profiles import parse_profile

ADDRESS = "https://gateway.example"


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> MagicMock:
    """A mock of dask-gateway."""
    made = MagicMock()
    made.return_value.__enter__.return_value = made
    made.new_cluster.return_value.__enter__.return_value = made.cluster
    errors = {name: type(name, (Exception,), {}) for name in ("GatewayClusterError", "GatewayServerError")}
    monkeypatch.setitem(sys.modules, "dask_gateway", SimpleNamespace(Gateway=made, **errors))
    return made


def opened(tmp_path: Path, **values: Any) -> int:
    """Open and close a cluster; return the number of its workers."""
    profile = parse_profile({"backend": "gateway", "address": ADDRESS, **values}, "a test")
    with open_cluster(profile, tmp_path) as cluster:
        assert cluster.max_workers == worker_limits(profile)[0]
        return cluster.max_workers


def test_the_gateway_gets_the_options_and_the_number_of_workers(tmp_path: Path, gateway: MagicMock) -> None:
    assert opened(tmp_path, jobs=3, options={"image": "mine"}) == 3
    gateway.new_cluster.assert_called_once_with(shutdown_on_close=True, image="mine")
    gateway.cluster.scale.assert_called_once_with(3)
    gateway.cluster.adapt.assert_not_called()


def test_the_gateway_adapts_between_minimum_and_maximum(tmp_path: Path, gateway: MagicMock) -> None:
    assert opened(tmp_path, adapt=[1, 5]) == 5
    gateway.cluster.adapt.assert_called_once_with(1, 5)
    gateway.cluster.scale.assert_not_called()


def test_error_of_the_gateway_is_reported(tmp_path: Path, gateway: MagicMock) -> None:
    gateway.new_cluster.side_effect = ValueError("no such option")
    with pytest.raises(ClusterError, match=f"the gateway {ADDRESS} did not start a cluster: no such option"):
        opened(tmp_path, jobs=1)


@pytest.mark.usefixtures("gateway")
def test_unencrypted_gateway_on_another_host_is_refused() -> None:
    def limits(**values: Any) -> tuple[int, int | None]:
        return worker_limits(parse_profile({"backend": "gateway", "jobs": 2, **values}, "a test"))

    far = "http://gateway.example"
    with pytest.raises(ProfileError, match="http:// is not encrypted"):
        limits(address=far)
    assert limits(address=far, insecure=True)[0] == 2
    assert limits(address="http://127.0.0.1:8000")[0] == 2
    with dask.config.set({"gateway.address": far}), pytest.raises(ProfileError, match=far):
        limits()


def test_request_for_no_workers_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"must be \[minimum, maximum\] numbers of jobs"):
        parse_profile({"backend": "gateway", "adapt": [0, 5]}, "a test")
