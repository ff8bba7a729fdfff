"""Another user of the machine can neither connect to a local run nor read it."""

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.faults.harness import command, no_workers, wait_until, write_config
from tests.faults.inject import TASK, Fault, FaultyRun

pytestmark = pytest.mark.faults

NOBODY = 65534
# Tries all connections that a user without the certificates of the run can attempt, and prints those that succeed.
INTRUDER = """
import asyncio, encodings.idna, json, os, ssl, sys
from pathlib import Path
from distributed.comm import connect
from distributed.security import Security

async def try_to_connect(address, **options):
    try:
        comm = await asyncio.wait_for(connect(address, timeout=2, **options), 5)
        comm.abort()
        return address
    except Exception:
        return ""

async def http(port):
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /sitemap.json HTTP/1.0\\r\\n\\r\\n")
        answer = await asyncio.wait_for(reader.read(4), 2)
        return f"http://127.0.0.1:{port}" if answer == b"HTTP" else ""
    except Exception:
        return ""

async def main(ports):
    bare = {"ssl_context": ssl._create_unverified_context()}
    tries = [try_to_connect(f"tcp://127.0.0.1:{port}") for port in ports]
    tries += [try_to_connect(f"tls://127.0.0.1:{port}", **options) for port in ports for options in (own, bare)]
    tries += [http(port) for port in ports]
    return [found for found in await asyncio.gather(*tries) if found]

def readable(paths):
    return [path for path in paths if os.access(path, os.R_OK)]

given = json.load(sys.stdin)
own = Security.temporary().get_connection_args("client")
os.setgroups([])  # not by setpriv, since the other user may not be allowed to execute this interpreter
os.setresgid(given["uid"], given["uid"], given["uid"])
os.setresuid(given["uid"], given["uid"], given["uid"])
print(json.dumps({
    "uid": os.getuid(),
    "connected": asyncio.run(main(given["ports"])),
    "readable": readable(given["paths"]),
}), flush=True)
os._exit(0)  # connections that hang need not be waited for
"""

needs_two_users = pytest.mark.skipif(
    os.geteuid() != 0,
    reason="needs root, to act as a second user of the machine",
)


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder that every user of the machine can read, unlike the temporary folders of pytest."""
    folder = Path(tempfile.mkdtemp(prefix="shared-"))
    folder.chmod(0o755)
    write_config(folder)
    yield folder
    shutil.rmtree(folder)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def listening(run: FaultyRun) -> list[int]:
    """Return the ports on which the processes of a run listen."""
    connections = [connection for process in run.left() for connection in process.net_connections()]
    return sorted({each.laddr.port for each in connections if each.status == psutil.CONN_LISTEN})


def as_nobody(ports: list[int], paths: list[Path]) -> dict[str, Any]:
    given = json.dumps({"uid": NOBODY, "ports": ports, "paths": [str(path) for path in paths]})
    done = subprocess.run(
        [sys.executable, "-c", INTRUDER], input=given, capture_output=True, text=True, timeout=60, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["uid"] == NOBODY
    return found


@needs_two_users
def test_another_user_can_neither_connect_nor_read(place: Path) -> None:
    held = Fault(TASK, "wait", of="fits/wave", times=2, seconds=600.0)
    own_scratch = place / "scratch"
    own_scratch.mkdir(mode=0o755)
    old = os.umask(0)  # the most permissive mask
    try:
        with FaultyRun(
            *("run", "tiny.toml", "--workers", "2", "--out", "run"),
            cwd=place,
            faults=[held],
            environment={"TMPDIR": str(own_scratch)},
        ) as run:
            assert wait_until(lambda: run.calls() == 2, 60)
            ports = listening(run)
            private = [place / "run", *(place / "run").rglob("*")]
            keys = [path for path in own_scratch.rglob("*") if path.is_file() and b"PRIVATE KEY" in path.read_bytes()]
            found = as_nobody(ports, [*private, *keys])
            os.killpg(run.process.pid, signal.SIGINT)
            run.release()
            assert run.end().returncode == 130
    finally:
        os.umask(old)
    assert len(ports) >= 5, "the scheduler, two workers and their nannies"
    assert len(private) > 20
    assert found["connected"] == []
    assert found["readable"] == []


def test_a_run_directory_and_its_logs_are_private_until_their_owner_shares_them(place: Path) -> None:
    old = os.umask(0)
    try:
        with no_workers():
            assert command("run", place / "tiny.toml", "--out", place / "runs/run").exit_code == 0
        root = place / "runs/run"
        assert mode(root) == 0o700
        assert mode(root / "logs") == 0o700
        assert mode(place / "runs") == 0o777  # parent folders get the default mode
        root.chmod(0o750)
        (root / "logs").chmod(0o750)
        with no_workers():
            assert command("run", place / "tiny.toml", "--out", root).exit_code == 0
            assert command("verify", root, "--repair").exit_code == 0
            assert command("resume", root).exit_code == 0
        assert mode(root) == mode(root / "logs") == 0o750
    finally:
        os.umask(old)


def test_existing_directory_keeps_its_mode(place: Path) -> None:
    root = place / "group"
    root.mkdir()
    root.chmod(0o2770)
    with no_workers():
        assert command("run", place / "tiny.toml", "--out", root).exit_code == 0
    assert mode(root) == 0o2770
    assert mode(root / "logs") & 0o777 == 0o700
