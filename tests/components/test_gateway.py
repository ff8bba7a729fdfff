"""A Dask Gateway that starts a cluster for a run."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from tests.components.servers import SOURCE
from tests.faults.harness import wait_until, write_config
from tests.faults.inject import assert_undisturbed
from tests.helpers.sweeps import pipeline, start

pytestmark = [
    pytest.mark.components,
    pytest.mark.skipif(
        not (find_spec("dask_gateway") and find_spec("dask_gateway_server")),
        reason="needs Dask Gateway: pip install 'kernel-pipeline[gateway]' 'dask-gateway-server[local]'",
    ),
]

START_TIMEOUT_S = 60
RUN_TIMEOUT_S = 120
SETTINGS = """
c.DaskGateway.backend_class = "dask_gateway_server.backends.local.UnsafeLocalBackend"
c.DaskGateway.authenticator_class = "dask_gateway_server.auth.SimpleAuthenticator"
c.DaskGateway.address = "127.0.0.1:0"
c.Proxy.address = "{address}"
c.LocalBackend.clusters_directory = "{folder}"
c.ClusterConfig.scheduler_cmd = ["{python}", "-m", "dask", "scheduler"]
c.ClusterConfig.worker_cmd = ["{python}", "-m", "dask", "worker"]
c.ClusterConfig.environment = {environment}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[tuple[str, psutil.Process]]:
    """A running gateway: its address and its process."""
    address, place = f"127.0.0.1:{free_port()}", tmp_path / "gateway"
    place.mkdir()
    settings = place / "settings.py"
    # The gateway does not pass its environment on. Bytes are equal only if OpenBLAS has the same settings.
    blas = {name: value for name, value in os.environ.items() if name.startswith("OPENBLAS_")}
    environment = {"PYTHONPATH": str(SOURCE)} | blas
    values = {"address": address, "folder": place, "python": sys.executable, "environment": environment}
    settings.write_text(SETTINGS.format(**values))
    server = [sys.executable, "-m", "dask_gateway_server", "--config", str(settings)]
    with (place / "log").open("wb") as log, subprocess.Popen(server, cwd=place, stdout=log, stderr=log) as process:
        try:
            assert wait_until(lambda: listens(address), START_TIMEOUT_S), (place / "log").read_text()
            yield f"http://{address}", psutil.Process(process.pid)
        finally:
            process.terminate()  # which also stops its proxy and all clusters


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def listens(address: str) -> bool:
    host, port = address.split(":")
    with socket.socket() as asking:
        return asking.connect_ex((host, int(port))) == 0


def profile(folder: Path, address: str) -> Path:
    path = folder / "gateway.toml"
    path.write_text(f'backend = "gateway"\naddress = "{address}"\njobs = 2\n')
    return path


def started_by(gateway: psutil.Process) -> list[str]:
    """Return the commands of the running schedulers and workers of a gateway."""
    commands = []
    for process in gateway.children(recursive=True):
        with suppress(psutil.Error):
            commands.append(" ".join(process.cmdline()))
    return [command for command in commands if "-m dask " in command]


def test_run_starts_and_stops_a_cluster_and_gives_the_tables_of_a_local_run(
    folder: Path, undisturbed: Path, gateway: tuple[str, psutil.Process]
) -> None:
    address, process = gateway
    running = start("run", "tiny.toml", "--cluster", profile(folder, address), "--out", "run", cwd=folder)
    assert wait_until(lambda: len(started_by(process)) > 1, START_TIMEOUT_S)
    _, errors = running.communicate(timeout=RUN_TIMEOUT_S)
    assert running.returncode == 0, errors
    assert errors == ""
    assert_undisturbed(folder / "run", undisturbed)
    assert wait_until(lambda: not started_by(process), 10)


def test_unreachable_gateway_gives_one_message(folder: Path) -> None:
    address = f"http://127.0.0.1:{free_port()}"
    refused = pipeline("run", "tiny.toml", "--cluster", profile(folder, address), "--out", "run", cwd=folder)
    assert refused.returncode == 5, refused.stderr
    assert refused.stderr.startswith(f"Error: the gateway {address} did not start a cluster: ")
    assert "Traceback" not in refused.stderr
    assert refused.stderr.count("Error: ") == 1
