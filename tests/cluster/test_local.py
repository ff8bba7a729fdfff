"""Worker processes on this machine listen on loopback only, and only encrypted."""

import os
from pathlib import Path

from kernel_pipeline.cluster import open_cluster
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.cluster.settings import ENVIRONMENT
from tests.cluster.listening import listening


def test_processes_listen_on_loopback_and_only_encrypted(tmp_path: Path) -> None:
    before = listening()
    with open_cluster(Profile(backend="local", jobs=1), tmp_path) as cluster:
        cluster.client.wait_for_workers(1, timeout=30)
        opened = listening() - before
        info = cluster.client.scheduler_info()
        worker = info["workers"].popitem()
    assert all(address.startswith("tls://127.0.0.1:") for address in (info["address"], worker[0], worker[1]["nanny"]))
    assert opened == {address.removeprefix("tls://") for address in (info["address"], worker[0], worker[1]["nanny"])}
    assert not list(tmp_path.iterdir()), "no certificate is written to the run directory"


def test_the_environment_of_this_process_is_restored(tmp_path: Path) -> None:
    before = dict(os.environ)
    with open_cluster(Profile(backend="local", jobs=2), tmp_path) as cluster:
        cluster.client.wait_for_workers(2, timeout=30)
    after = dict(os.environ)
    names = {*ENVIRONMENT, "PYTHONHASHSEED", "__DASK_PARENT_PID"}
    assert {name: after.get(name) for name in names} == {name: before.get(name) for name in names}
