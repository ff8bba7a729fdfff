"""Three hosts, as network namespaces with a switch between them: the driver on the first, workers on the others."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Self

import pytest

from tests.components.servers import Servers
from tests.faults.harness import command, finished_names, wait_until, write_config
from tests.faults.inject import ALWAYS, TASK, Fault, assert_undisturbed, faulty
from tests.helpers.sweeps import start

pytestmark = [
    pytest.mark.components,
    pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("ip"), reason="needs root, and ip: apt install iproute2"),
]

SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.3)
# The shortest timeouts that Dask allows, after which a disconnected host is given up.
TIMEOUTS = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s", "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "20s"}
ENOUGH_LINES = 8
RUN_TIMEOUT_S = 150


class Hosts:
    """Hosts on a private switch without other connections; they are deleted at the end of the block."""

    def __init__(self, count: int) -> None:
        self._switch = f"pipeline-{os.getpid()}-switch"
        self._names = [f"pipeline-{os.getpid()}-{number}" for number in range(count)]
        self._made = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as making:
            for name in (self._switch, *self._names):
                _ip("netns", "add", name)
                making.callback(_ip, "netns", "delete", name)
                _ip("-n", name, "link", "set", "lo", "up")
            _ip("-n", self._switch, "link", "add", "bridge", "type", "bridge")
            _ip("-n", self._switch, "link", "set", "bridge", "up")
            for number, name in enumerate(self._names):
                port = ("dev", f"port{number}")
                peer = ("peer", "name", "eth0", "netns", name)
                _ip("-n", self._switch, "link", "add", *port, "type", "veth", *peer)
                _ip("-n", self._switch, "link", "set", *port, "master", "bridge", "up")
                _ip("-n", name, "address", "add", f"{self.address(number)}/24", "dev", "eth0")
                _ip("-n", name, "link", "set", "eth0", "up")
            self._made = making.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._made.close()

    def address(self, number: int) -> str:
        return f"10.77.0.{number + 1}"

    def on(self, number: int) -> tuple[str, ...]:
        """Return the start of a command that runs on a host."""
        return ("ip", "netns", "exec", self._names[number])

    def cut(self, number: int) -> None:
        """Disconnect a host from the switch."""
        _ip("-n", self._switch, "link", "set", f"port{number}", "down")


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True)


@pytest.fixture
def hosts() -> Iterator[Hosts]:
    with Hosts(3) as hosts:
        yield hosts


@pytest.mark.slow
def test_run_survives_a_host_that_is_disconnected(tmp_path: Path, undisturbed: Path, hosts: Hosts) -> None:
    config, root = write_config(tmp_path), tmp_path / "run"
    slowly = faulty([SLOWER], tmp_path / "notes")
    with Servers(tmp_path / "servers", environment=slowly | TIMEOUTS) as servers:
        servers.start_scheduler(hosts.address(0), within=hosts.on(0))
        for number in (1, 2):
            servers.start_worker(f"worker-{number}", "--host", hosts.address(number), within=hosts.on(number))
        servers.wait_for_workers(2)
        arguments = ("run", config, "--cluster", servers.address, "--out", root)
        refused = command(*arguments)
        assert refused.exit_code == 2, refused.output
        assert "is on another host, and tcp:// is neither encrypted" in refused.stderr
        process = start(*arguments, "--insecure", cwd=tmp_path, within=hosts.on(0))
        assert wait_until(lambda: len(finished_names(root)) >= ENOUGH_LINES, 60)
        hosts.cut(2)
        before = finished_names(root)
        _, errors = process.communicate(timeout=RUN_TIMEOUT_S)
        assert process.returncode == 0, errors
        assert errors == ""
        assert f"Remove worker addr: tcp://{hosts.address(2)}" in servers.log_of("scheduler")
    assert before < finished_names(undisturbed)
    assert_undisturbed(root, undisturbed)
