"""Runs on external schedulers, given by address or scheduler file, with and without TLS; and errors of such runs."""

import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from distributed.security import Security

from kernel_pipeline.stages.task import STAGES
from tests.components.servers import SOURCE, Servers
from tests.faults.harness import assert_same, command, finished_names, wait_until, write_config
from tests.faults.inject import ALWAYS, TASK, Fault, assert_undisturbed, faulty
from tests.helpers.sweeps import start

pytestmark = pytest.mark.components

# Slows tasks down, so that a run can be stopped in the middle.
SLOWER = Fault(TASK, "sleep", times=ALWAYS, seconds=0.1)
ENOUGH_LINES = 8
REFUSAL_TIMEOUT_S = 30
LAYOUT = {"pipeline": "", "cluster": "cluster", "configs": "configs", "tasks": "tasks"}
"""Folders of the source tree, and their places in the package."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    """A scheduler with two slow workers."""
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


def assert_refused(done: subprocess.CompletedProcess[str], code: int, *words: str) -> None:
    """Check the exit code, and that there is one error message with these words and no traceback."""
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.startswith("Error: "), done.stderr
    assert done.stderr.count("Error: ") == 1, done.stderr
    assert all(word in done.stderr for word in words), done.stderr


def certificates(folder: Path) -> dict[str, str]:
    """Create certificates, and return their files."""
    made = Security.temporary().get_tls_config_for_role("client")
    folder.mkdir()
    files = {"ca": "ca_file", "cert": "cert", "key": "key"}
    for name, key in files.items():
        (folder / name).write_text(made[key])
    return {name: str(folder / name) for name in files}


def tls_profile(path: Path, address: str, files: dict[str, str]) -> Path:
    """Write a profile of a scheduler that requires certificates."""
    path.write_text(
        f'backend = "address"\naddress = "{address}"\n[tls]\n'
        + "".join(f'{name} = "{file}"\n' for name, file in files.items())
    )
    return path


def changed_source(folder: Path) -> Path:
    """Copy this package, and add a line to one of its files."""
    package = folder / "kernel_pipeline"
    for name, place in LAYOUT.items():
        shutil.copytree(SOURCE / name, package / place, ignore=shutil.ignore_patterns("__pycache__"))
    with (package / "tasks/learners/paths.py").open("a") as file:
        file.write("# another state of the source\n")
    return folder


def fake_numpy_version(folder: Path, version: str) -> Path:
    """Write metadata according to which numpy has another version."""
    described = folder / f"numpy-{version}.dist-info/METADATA"
    described.parent.mkdir(parents=True)
    described.write_text(f"Metadata-Version: 2.1\nName: numpy\nVersion: {version}\n")
    return folder


def hidden_package(folder: Path) -> Path:
    """Write a `sitecustomize.py` that hides this package from Python, wherever it is installed."""
    folder.mkdir()
    shutil.copy(Path(__file__).with_name("without_package.py"), folder / "sitecustomize.py")
    return folder


@pytest.mark.slow
def test_two_runs_at_once_on_one_scheduler_give_the_tables_of_a_local_run(
    folder: Path, undisturbed: Path, servers: Servers
) -> None:
    runs = {"by-address": run(servers.address, "by-address", folder), "by-file": run(servers.file, "by-file", folder)}
    for name, process in runs.items():
        done = end(process)
        assert done.returncode == 0, done.stderr
        assert_undisturbed(folder / name, undisturbed)  # the workers have closed the log files of the run
        assert list((folder / name / "logs").glob("worker-*.log"))
    assert servers.is_intact


@pytest.mark.slow
def test_stopped_run_is_resumed_with_the_same_workers(folder: Path, undisturbed: Path, servers: Servers) -> None:
    root = folder / "run"
    process = run(servers.address, "run", folder)
    assert wait_until(lambda: len(finished_names(root)) >= ENOUGH_LINES, 60)
    process.send_signal(signal.SIGINT)
    stopped = end(process)
    assert stopped.returncode == 130, stopped.stderr
    before = finished_names(root)
    assert before < finished_names(undisturbed)
    done = end(run(servers.address, "run", folder))
    assert done.returncode == 0, done.stderr
    assert_undisturbed(root, undisturbed)
    assert servers.is_intact


@pytest.mark.slow
def test_run_that_lost_its_scheduler_is_resumed_on_another(folder: Path, undisturbed: Path) -> None:
    root = folder / "run"
    with Servers(folder / "first", environment=faulty([SLOWER], folder / "notes")) as servers:
        servers.start_scheduler()
        servers.start_worker("worker")
        address = servers.address
        process = run(address, "run", folder)
        assert wait_until(lambda: len(finished_names(root)) >= ENOUGH_LINES, 60)
        servers.kill("scheduler")
        lost = end(process, REFUSAL_TIMEOUT_S)
    assert_refused(lost, 5, "the connection to the scheduler was lost", "same command resumes")
    assert not (root / "lock").exists()
    before = finished_names(root)
    assert before < finished_names(undisturbed)
    with Servers(folder / "second") as servers:
        servers.start_scheduler(port=int(address.rpartition(":")[2]))
        servers.start_worker("worker")
        done = end(run(address, "run", folder))
    assert done.returncode == 0, done.stderr
    assert_undisturbed(root, undisturbed)


def test_scheduler_with_tls_is_reached_by_a_profile_or_by_dask_settings(
    folder: Path, undisturbed: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = certificates(folder / "certificates")
    options = [f"--tls-{name}={files[key]}" for name, key in (("ca-file", "ca"), ("cert", "cert"), ("key", "key"))]
    with Servers(folder / "servers", security=options) as servers:
        servers.start_scheduler()
        servers.start_worker("worker")
        address = servers.address
        assert address.startswith("tls://")
        profile = tls_profile(folder / "profile.toml", address, files)
        other = tls_profile(folder / "other.toml", address, certificates(folder / "other"))
        without = run(address, "without", folder)
        wrong = run(other, "wrong", folder)
        by_profile = run(profile, "by-profile", folder)
        monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", files["ca"])
        monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT", files["cert"])
        monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY", files["key"])
        by_settings = run(address, "by-settings", folder)
        assert_refused(end(without, REFUSAL_TIMEOUT_S), 2, f"{address} needs certificates", "[tls]")
        assert_refused(end(wrong, REFUSAL_TIMEOUT_S), 5, f"cannot connect to the scheduler {address}", "certificate")
        for process in (by_profile, by_settings):
            done = end(process)
            assert done.returncode == 0, done.stderr
        assert servers.is_intact
    assert_same(folder / "by-profile", undisturbed)
    assert_same(folder / "by-settings", undisturbed)
    assert not (folder / "without").exists()
    assert not (folder / "wrong").exists()


@pytest.mark.slow
def test_unreachable_scheduler_gives_one_message_and_nothing_is_written(folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # without listening
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        refused = end(run(address, "run", folder), REFUSAL_TIMEOUT_S)
    assert_refused(refused, 5, f"cannot connect to the scheduler {address}")
    assert not (folder / "run").exists()


def test_unencrypted_connection_to_another_host_requires_insecure(folder: Path) -> None:
    refused = command("run", folder / "tiny.toml", "--cluster", "tcp://192.0.2.1:8786", "--out", folder / "run")
    assert refused.exit_code == 2, refused.output
    assert "tcp://192.0.2.1:8786 is on another host" in refused.stderr
    assert "--insecure" in refused.stderr
    assert not (folder / "run").exists()


def test_workers_with_other_versions_are_refused_with_a_table_before_any_task(folder: Path) -> None:
    paths = {
        "other-source": [changed_source(folder / "changed")],
        "other-numpy": [fake_numpy_version(folder / "numpy", "1.0"), SOURCE],
        "no-package": [hidden_package(folder / "hidden")],
        "same": [SOURCE],
    }
    with Servers(folder / "servers") as servers:
        servers.start_scheduler()
        for name, path in paths.items():
            environment = {"PYTHONPATH": os.pathsep.join(map(str, path))}
            servers.start_worker(name, "--name", name, environment=environment)
        servers.wait_for_workers(len(paths))
        names = {address: name for name, address in servers.workers.items()}
        refused = end(run(servers.address, "run", folder))
        assert servers.is_intact
    assert_refused(refused, 5, "3 of 4 workers have other versions than this driver")
    table = [re.split(r"\s{2,}", line.strip()) for line in refused.stderr.splitlines() if line.startswith("  ")]
    columns = [names.get(head, head) for head in table[0]]
    assert sorted(columns) == ["driver", "no-package", "other-numpy", "other-source"]
    rows = {line[0]: dict(zip(columns, line[1:], strict=True)) for line in table[1:]}
    differ = {name: {column for column in columns if row[column] != row["driver"]} for name, row in rows.items()}
    assert differ == {
        "numpy": {"other-numpy"},
        "kernel-pipeline": {"no-package"},
        "source of kernel-pipeline": {"no-package", "other-source"},
    }
    assert rows["numpy"]["other-numpy"] == "1.0"
    assert rows["kernel-pipeline"]["no-package"] == rows["source of kernel-pipeline"]["no-package"] == "none"
    assert not any(name.startswith(STAGES) for name in finished_names(folder / "run"))


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root, and unshare of util-linux")
def test_workers_that_do_not_see_the_run_directory_are_refused(folder: Path) -> None:
    shared = folder / "shared"
    shared.mkdir()
    hidden = f'mount -t tmpfs none {shlex.quote(str(shared))} && exec "$@"'
    with Servers(folder / "servers") as servers:
        servers.start_scheduler()
        servers.start_worker("blind", within=("unshare", "--mount", "sh", "-c", hidden, "sh"))
        servers.wait_for_workers(1)
        refused = end(run(servers.address, "shared/run", folder))
        assert servers.is_intact
    assert_refused(refused, 5, "1 of 1 workers cannot read the arrays in shared/run", "--out")
    assert not any(name.startswith(STAGES) for name in finished_names(shared / "run"))
