"""Addresses of schedulers: which are taken, and what is read off those that are there."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from kernel_pipeline.cluster.address import worker_limits
from kernel_pipeline.cluster.profile import Profile


def test_each_thread_of_a_worker_has_its_share_of_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = [{"nthreads": 1, "memory_limit": 600}, {"nthreads": 4, "memory_limit": 2000}]
    workers += [{"nthreads": 2, "memory_limit": 0}] * 5  # without a limit

    def scheduler_info(n_workers: int) -> dict[str, Any]:
        assert n_workers == -1  # some versions of Dask list five without being told
        return {"workers": dict(enumerate(workers))}

    @contextmanager
    def connected(_profile: Profile) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(scheduler_info=scheduler_info)

    monkeypatch.setattr("kernel_pipeline.cluster.address._connect", connected)
    assert worker_limits(Profile(backend="address", address="tcp://127.0.0.1:1")) == (15, 500)
