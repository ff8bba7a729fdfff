"""Schedulers that are already there: by address, by scheduler file, with TLS; and all that may be wrong with them."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from distributed.security import Security

from tests.components.servers import SOURCE, Servers
from tests.faults.harness import assert_same, assert_same_and_tidy, done_by, lines, wait_until, write_config
from tests.faults.inject import ALWAYS, TASK, Fault, faulty
from tests.run.sweeps import pipeline, start

pytestmark = pytest.mark.components

# Tasks take so much longer, so that a run can be met in the middle.
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.1)
ENOUGH_LINES = 8
SECONDS_TO_REFUSE = 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A scheduler with two workers, which take their time."""
    folder = tmp_path_factory.mktemp("servers")
    with Servers(folder / "logs", environment=faulty([SLOWER], folder / "notes")) as servers:
        servers.start_scheduler()
        for number in range(2):
            servers.start_worker(f"worker-{number}")
        servers.wait_for_workers(2)
        yield servers


def run(cluster: str | Path, out: str, cwd: Path, *options: str) -> subprocess.Popen[str]:
    return start("run", "tiny.toml", "--cluster", cluster, "--out", out, *options, cwd=cwd)


def end(process: subprocess.Popen[str], seconds: float = 120) -> subprocess.CompletedProcess[str]:
    output, errors = process.communicate(timeout=seconds)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def certificates(folder: Path) -> dict[str, str]:
    """The files of new certificates."""
    made = Security.temporary().get_tls_config_for_role("client")
    folder.mkdir()
    files = {"ca": "ca_file", "cert": "cert", "key": "key"}
    for name, key in files.items():
        (folder / name).write_text(made[key])
    return {name: str(folder / name) for name in files}


def tls_profile(path: Path, address: str, files: dict[str, str]) -> Path:
    """A profile of a scheduler that asks for certificates."""
    path.write_text(
        f'backend = "address"\naddress = "{address}"\n[tls]\n'
        + "".join(f'{name} = "{file}"\n' for name, file in files.items())
    )
    return path


def test_two_runs_at_once_on_one_scheduler_give_the_tables_of_a_local_run(
    folder: Path, undisturbed: Path, servers: Servers
) -> None:
    runs = {"by-address": run(servers.address, "by-address", folder), "by-file": run(servers.file, "by-file", folder)}
    for name, process in runs.items():
        done = end(process)
        assert done.returncode == 0, done.stderr
        assert_same_and_tidy(folder / name, undisturbed)  # workers have closed their logs of it
        assert list((folder / name / "logs").glob("worker-*.log"))
    assert servers.stayed


def test_a_run_that_was_stopped_goes_on_with_the_same_workers(
    folder: Path, undisturbed: Path, servers: Servers
) -> None:
    root = folder / "run"
    process = run(servers.address, "run", folder)
    assert wait_until(lambda: len(done_by(root)) >= ENOUGH_LINES, 60)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert stopped.returncode == 130, stopped.stderr
    before = done_by(root)
    assert before < done_by(undisturbed)
    done = end(run(servers.address, "run", folder))
    assert done.returncode == 0, done.stderr
    assert_same(root, undisturbed)
    assert before < done_by(root)
    assert set(lines(root).values()) == {1}
    assert servers.stayed
