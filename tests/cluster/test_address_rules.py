"""Addresses of schedulers: which are taken, and what is read off those that are there."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from cluster.address import scheduler_address, worker_limits
from cluster.errors import ProfileError
from cluster.profile import Profile


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:1", "tcp://localhost:1", "tcp://[::1]:1", "tls://host:1"])
def test_this_host_and_encrypted_ones_are_taken(address: str) -> None:
    assert scheduler_address(Profile(backend="address", address=address)) == address


@pytest.mark.parametrize("address", ["tcp://10.0.0.1:1", "tcp://login.example:1"])
def test_other_hosts_in_the_clear_are_taken_when_told(address: str, tmp_path: Path) -> None:
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))
    for given in (address, str(file)):
        with pytest.raises(ProfileError, match="--insecure"):
            scheduler_address(Profile(backend="address", address=given))
        assert scheduler_address(Profile(backend="address", address=given, insecure=True)) == address


@pytest.mark.parametrize("address", ["http://127.0.0.1:1", "tcp://127.0.0.1", "tls://:1"])
def test_what_is_no_address_of_a_scheduler_is_refused(address: str) -> None:
    with pytest.raises(ProfileError, match="is not one of a scheduler"):
        scheduler_address(Profile(backend="address", address=address))


def test_each_thread_of_a_worker_has_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = [{"nthreads": 1, "memory_limit": 600}, {"nthreads": 4, "memory_limit": 2000}]
    workers += [{"nthreads": 2, "memory_limit": 0}] * 5  # without a limit

    def scheduler_info(n_workers: int) -> dict[str, Any]:
        assert n_workers == -1  # some versions of Dask list five without being told
        return {"workers": dict(enumerate(workers))}

    @contextmanager
    def connected(_profile: Profile) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(scheduler_info=scheduler_info)

    monkeypatch.setattr("cluster.address._connect", connected)
    assert worker_limits(Profile(backend="address", address="tcp://127.0.0.1:1")) == (15, 500)
