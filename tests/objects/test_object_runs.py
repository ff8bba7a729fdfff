"""Sweeps in an object store from the command line: they give the same tables as in a folder, even after faults."""

import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from kernel_pipeline.store.object_storage import ObjectStorage
from tests.faults.harness import wait_until
from tests.faults.inject import ALWAYS, LEDGER, TASK, Fault, FaultyRun, run_with
from tests.objects.harness import assert_same, files
from tests.objects.server import Server

pytestmark = pytest.mark.components

# Seconds for which the server is down; its start takes 5 more at least.
DOWNTIME_S = 20.0
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.3)
TREE = Path(__file__).parents[2]


def segments(root: ObjectStorage) -> int:
    return len(list(root.keys("ledger")))


def test_sweep_gives_the_tables_of_a_local_run_and_leaves_no_local_files(
    root: ObjectStorage, reference: Path, server: Server, scratch: Path, tmp_path: Path
) -> None:
    config = reference.parent / "tiny.toml"
    _, done = run_with("run", config, "--workers", "2", "--out", root.address, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert f"the tables are in {root}/results" in done.stdout
    assert_same(root, reference)
    logs = [key.rpartition("/")[2] for key in root.keys("logs")]
    assert logs == ["driver.log", "worker-0.log", "worker-1.log"]
    (tmp_path / "notes").rmdir()
    assert not any(path.exists() for path in (scratch / "kernel-pipeline", tmp_path / "runs"))
    secret = server.secret.encode()
    said = (done.stdout + done.stderr).encode()
    assert not any(secret in content for content in (said, *files(root).values()))


def test_only_one_of_two_drivers_can_resume_a_killed_run(
    root: ObjectStorage, reference: Path, server: Server, scratch: Path, tmp_path: Path
) -> None:
    config = reference.parent / "tiny.toml"
    run = ("run", config, "--workers", "2", "--out", root.address)
    kill = Fault(LEDGER, "kill", process="driver", first=9)
    _, killed = run_with(*run, cwd=tmp_path, faults=[kill])
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    assert segments(root) == 8
    assert root.exists("lock")
    left = [path for path in scratch.rglob("*") if path.is_file()]
    assert [path for path in left if path.name == "driver.log"]
    assert not any(server.secret.encode() in path.read_bytes() for path in left)
    rivals = [FaultyRun("resume", root.address, "--workers", "2", cwd=tmp_path) for _ in range(2)]
    with rivals[0], rivals[1]:
        ended = [rival.end() for rival in rivals]
    assert sorted(done.returncode for done in ended) == [0, 4], ended
    refused, winner = (ended, rivals[::-1]) if ended[0].returncode == 4 else (ended[::-1], rivals)
    assert f"{root} is in use by process {winner[0].process.pid} on {socket.gethostname()}" in refused[0].stderr
    assert_same(root, reference)
    assert b"start: 31 of 31 tasks" in next(log for key, log in files(root).items() if key.endswith("driver.log"))
    assert not (scratch / "kernel-pipeline").exists()


@pytest.mark.slow
def test_run_waits_for_a_server_that_is_temporarily_down(
    root: ObjectStorage, reference: Path, server: Server, tmp_path: Path
) -> None:
    arguments = ("run", reference.parent / "tiny.toml", "--workers", "2", "--out", root.address)
    with FaultyRun(*arguments, cwd=tmp_path, faults=[SLOWER]) as run:
        assert wait_until(lambda: segments(root) > 5, 60)
        server.kill()
        time.sleep(DOWNTIME_S)
        server.start()
        done = run.end()
    assert done.returncode == 0, done.stderr
    sent = next(log for key, log in files(root).items() if key.endswith("driver.log"))
    assert b"done fits/" in sent
    assert b"attempt" not in sent
    assert_same(root, reference)


@pytest.mark.parametrize("what", ["secret", "bucket"])
def test_wrong_secret_or_bucket_gives_one_error_and_nothing_is_written(
    what: str, place: Callable[[], ObjectStorage], reference: Path, scratch: Path, tmp_path: Path
) -> None:
    root = place()
    address = root.address if what == "secret" else root.address.replace("bucket", "elsewhere")
    environment = {"AWS_SECRET_ACCESS_KEY": "of-someone-else"} if what == "secret" else {}
    begin = time.monotonic()
    config = reference.parent / "tiny.toml"
    _, done = run_with("run", config, "--out", address, cwd=tmp_path, environment=environment)
    assert time.monotonic() - begin < 20
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    words = "refuses access (SignatureDoesNotMatch)" if what == "secret" else "the bucket does not exist"
    assert line.startswith(f"Error: {address} cannot be used: ")
    assert words in line
    assert "of-someone-else" not in line
    assert not root.exists()
    assert not scratch.exists()


@pytest.mark.parametrize("missing", ["obstore", "boto3"])
def test_missing_libraries_are_reported_with_the_command_to_install_them(missing: str, root: ObjectStorage) -> None:
    code = f"import sys; sys.modules[{missing!r}] = None; from kernel_pipeline.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code, "status", root.address], cwd=TREE, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"Error: s3:// addresses need libraries that are not installed ({missing}): pip install 'kernel-pipeline[s3]'\n"
    )
