"""Too few threads or processes, or too little address space: the message names the limit, and no command hangs."""

import asyncio
import errno
import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import zarr
from click.testing import CliRunner
from distributed import LocalCluster

from kernel_pipeline.cli.main import main
from kernel_pipeline.cluster import limits, private_cluster
from kernel_pipeline.cluster.errors import ClusterError, LimitError
from kernel_pipeline.cluster.private_cluster import PrivateCluster
from kernel_pipeline.cluster.versions import fingerprint
from kernel_pipeline.run.worker import run_batch
from kernel_pipeline.store.arrays import DamagedError, RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.faults.harness import write_config
from tests.faults.inject import FaultyRun

pytestmark = pytest.mark.faults

NOBODY = 65534
NO_THREAD = RuntimeError("can't start new thread")


def limited(monkeypatch: pytest.MonkeyPatch, **found: int) -> None:
    """Simulate other limits of this process, and a user who is not root."""
    numbers = {getattr(resource, name): value for name, value in found.items()}
    monkeypatch.setattr(
        resource, "getrlimit", lambda kind: (numbers.get(kind, resource.RLIM_INFINITY), resource.RLIM_INFINITY)
    )
    monkeypatch.setattr(os, "geteuid", lambda: 1000)


def test_small_address_space_is_refused_with_the_name_of_the_limit(tmp_path: Path) -> None:
    write_config(tmp_path)
    space = {resource.RLIMIT_AS: 900 << 20}
    with FaultyRun("run", "tiny.toml", "--workers", "2", "--out", "run", cwd=tmp_path, limits=space) as run:
        done = run.end(30)
    assert done.returncode == 1, done.stderr
    assert done.stderr.startswith("Error: the address space of a process is limited to 900 MiB (`ulimit -v`)")
    assert not (tmp_path / "run").exists()


def test_small_limit_of_processes_is_refused_with_its_name(tmp_path: Path) -> None:
    def may_run() -> bool:
        try:
            return subprocess.run([sys.executable, "-c", ""], user=NOBODY, group=NOBODY, check=False).returncode == 0
        except OSError:
            return False

    if os.geteuid() != 0 or not may_run():
        pytest.skip("needs root, and an interpreter that another user, for whom the limit holds, may run")
    script = "from kernel_pipeline.cluster.limits import check_limits; check_limits(2)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        user=NOBODY,
        group=NOBODY,
        extra_groups=[],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (24, 24)),
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    assert "the limit of 24 processes and threads per user (`ulimit -u`) leaves" in done.stderr


def test_limit_of_a_user_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    limited(monkeypatch, RLIMIT_NPROC=20)
    with pytest.raises(LimitError, match=r"2 worker\(s\) need about 48 threads .*limit of 20 .*`ulimit -u`") as refused:
        limits.check_limits(2)
    assert refused.value.exit_code == 1
    limited(monkeypatch, RLIMIT_NPROC=1_000_000)
    limits.check_limits(2)


@pytest.mark.parametrize(("maximum", "refused"), [("60", True), ("100", False), ("max", False)])
def test_limit_of_a_cgroup_is_checked(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, maximum: str, refused: bool
) -> None:
    monkeypatch.setattr(limits, "CGROUP", tmp_path)
    monkeypatch.setattr(
        limits, "_cgroup", lambda what: {"max": int(maximum) if maximum != "max" else None, "current": 30}[what]
    )
    if refused:
        with pytest.raises(
            LimitError, match=r"limit of 60 processes and threads of the cgroup \(`pids.max`\) leaves 30"
        ):
            limits.check_limits(2)
    else:
        limits.check_limits(2)


def test_workers_that_cannot_start_name_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> None:
        raise RuntimeError("Nanny failed to start.") from NO_THREAD

    monkeypatch.setattr(LocalCluster, "__init__", fails)
    with pytest.raises(LimitError, match=r"Nanny failed to start.*limit of this system"):
        PrivateCluster(n_workers=1)
    limited(monkeypatch, RLIMIT_NPROC=30)
    with pytest.raises(LimitError, match=r"30 processes and threads per user \(`ulimit -u`\)"):
        PrivateCluster(n_workers=1)


def test_workers_that_never_start_raise_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    async def hang(*_: object) -> None:
        await asyncio.sleep(3600)

    monkeypatch.setattr(private_cluster, "START_TIMEOUT_S", 1.0)
    monkeypatch.setattr(LocalCluster, "_start", hang)
    with pytest.raises(ClusterError, match="the workers cannot be started"):
        PrivateCluster(n_workers=1)


@pytest.mark.parametrize(
    "error",
    [NO_THREAD, MemoryError("Unable to allocate"), OSError(errno.EMFILE, "Too many open files")],
    ids=["threads", "memory", "files"],
)
def test_exhausted_resource_is_not_damage(error: Exception, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object, **__: object) -> Any:
        raise error

    store = RunStore(LocalStorage(tmp_path))
    store.create("data.zarr", "x", (2,), (2,), "a test")
    store.write("data.zarr", "x", [1.0, 2.0])
    with monkeypatch.context() as patch:
        patch.setattr(zarr.Array, "__getitem__", fails)
        with pytest.raises(type(error)) as raised:
            store.read("data.zarr", "x")
        assert not isinstance(raised.value, DamagedError)
    monkeypatch.setattr(zarr, "open_array", fails)
    with pytest.raises(type(error)) as raised:
        RunStore(LocalStorage(tmp_path)).array("data.zarr", "x")
    assert not isinstance(raised.value, DamagedError)


@pytest.mark.parametrize(("error", "kind"), [(NO_THREAD, LimitError), (MemoryError("no room"), MemoryError)])
def test_error_of_a_worker_names_the_limit(
    error: Exception, kind: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> None:
        raise error

    limited(monkeypatch, RLIMIT_AS=4 << 30)
    monkeypatch.setattr("kernel_pipeline.run.worker.run_tasks", fails)
    monkeypatch.setattr("kernel_pipeline.run.worker.get_worker", object)
    task: Any = SimpleNamespace(name="a")
    with pytest.raises(kind, match=r"imits are: 4096 MiB of address space \(`ulimit -v`\)"):
        run_batch([task], (), (), RunStore(LocalStorage(tmp_path)), "execution", fingerprint())


def test_error_of_a_command_names_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise NO_THREAD

    limited(monkeypatch, RLIMIT_NPROC=40)
    monkeypatch.setattr("kernel_pipeline.config.loading.shipped_configs", fails)
    result = CliRunner().invoke(main, ["configs"])
    assert result.exit_code == 1
    assert "40 processes and threads per user (`ulimit -u`)" in result.stderr
    assert "Traceback" not in result.stderr
