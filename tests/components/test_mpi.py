"""Runs in processes that mpirun starts: a scheduler, the driver and workers."""

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.components.servers import SOURCE
from tests.faults.harness import rewrite_ledger, write_config
from tests.faults.inject import assert_undisturbed

pytestmark = [
    pytest.mark.components,
    pytest.mark.skipif(
        not (shutil.which("mpirun") and find_spec("mpi4py") and find_spec("dask_mpi")),
        reason="needs MPI: apt install openmpi-bin, pip install 'kernel-pipeline[mpi]'",
    ),
]

# Open MPI requires these variables to run as root and to start more processes than there are cores.
PERMISSIONS = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# With this setting, Dask refuses unencrypted connections.
ENCRYPTED = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
TIMEOUT_S = 120


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_config(tmp_path)
    return tmp_path


def mpirun(processes: int, *arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run a command in a number of processes, and wait until all have ended."""
    command = ["mpirun", "-n", str(processes), sys.executable, "-m", "kernel_pipeline", *map(str, arguments)]
    environment = os.environ | PERMISSIONS | ENCRYPTED | {"PYTHONPATH": str(SOURCE), "PYTHONSAFEPATH": "1"}
    return subprocess.run(
        command,
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        start_new_session=True,  # signals of mpirun to its process group do not reach this process
    )


def test_run_and_resumed_run_give_the_tables_of_a_local_run(folder: Path, undisturbed: Path) -> None:
    root = folder / "run"
    done = mpirun(4, "run", "tiny.toml", "--cluster", "mpi", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "2 workers" in done.stdout
    assert_undisturbed(root, undisturbed)

    rewrite_ledger(root, lambda name: not name.startswith(("fits/", "tables")))
    done = mpirun(3, "resume", "run", "--cluster", "mpi", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert "1 worker; " in done.stdout
    assert_undisturbed(root, undisturbed)


@pytest.mark.slow
def test_two_processes_are_too_few(folder: Path) -> None:
    refused = mpirun(2, "run", "tiny.toml", "--cluster", "mpi", "--out", "run", cwd=folder)
    assert refused.returncode == 2, refused.stderr
    assert "--cluster mpi needs at least 3 processes" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (folder / "run").exists()


@pytest.mark.slow
def test_config_error_ends_all_processes_with_one_message(folder: Path) -> None:
    mistake = ("--set", "protocol.folds=1")
    refused = mpirun(4, "run", "tiny.toml", "--cluster", "mpi", "--out", "run", *mistake, cwd=folder)
    assert refused.returncode == 2, refused.stderr
    assert refused.stderr.count("Error: ") == 1, refused.stderr
    assert "protocol.folds" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not (folder / "run").exists()
