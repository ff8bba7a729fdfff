"""Run fits that exceed the memory of each worker: four workers of 1 GiB, and 12,000 training samples (1.1 GiB).

    PIPELINE_DATA_DIR=DIR python -m tests.benchmarks.bench_spread [ROWS] [MEMORY]

The sweep of each problem (protein with ridge paths, a9a with support vector machines) is run undisturbed, again while
workers and then the driver are killed, and once more with kernels in memory. The tables of the first two runs must have
the same bytes, and their errors must be those of the third run, within the certificates.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import tomli_w
from distributed import Client, LocalCluster

from kernel_pipeline.cluster.settings import ENVIRONMENT

WORKERS, WORKER_MEMORY = 4, "1 GiB"
ROWS, MEMORY = 20_000, "800 MiB"
DATASETS: dict[str, dict[str, Any]] = {
    "regression": {
        "name": "protein",
        "task": "regression",
        "path": "large/casp_protein.csv.gz",
        "format": "csv",
        "target": "RMSD",
        "scale": "standard",
        "kernels": [{"family": "gaussian", "log2_gamma": [-8, 4]}],
    },
    "classification": {
        "name": "a9a",
        "task": "classification",
        "path": "large/a9a.gz",
        "format": "libsvm",
        "kernels": [{"family": "gaussian", "log2_gamma": [-8, -2]}],
    },
}
# Time after the start of a solve at which a worker is killed.
DELAY_S = 3.0
ERRORS = ["train_error", "validation_error", "test_error"]


@dataclass
class Measured:
    """Measurements of the runs of one problem."""

    seconds: float
    """Time of the undisturbed run."""
    peak: float
    """Largest memory of a task, in bytes."""
    certificate: float
    """Largest certificate of all fits."""
    is_same: bool
    """Whether the tables of the disturbed run have the same bytes."""
    difference: float
    """Largest difference of an error from that of a fit in memory."""
    parts: int
    """Number of tasks that solved a part of a fit."""


def config(problem: str, rows: int, memory: str) -> dict[str, Any]:
    return {
        "name": "spread",
        "baselines": False,
        "methods": ["unif"],
        "fit": {"memory": memory, "svm": {"from": 4, "to": 12, "step": 4}},
        "storage": {"gram": "recompute", "tile": 256 if rows >= ROWS else 64},
        "dataset": [{"source": "file", "rows": rows, **DATASETS[problem]}],
    }


def command(folder: Path, root: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a run."""
    call = "from kernel_pipeline.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", call, "run", str(folder / "sweep.toml"), "--out", str(root), *options],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def end(process: "subprocess.Popen[str]") -> None:
    """Wait until a run ends; raise an error if it failed."""
    output, _ = process.communicate()
    if process.returncode:
        raise RuntimeError(output)


def finished(root: Path) -> int:
    """Return the number of finished tasks of the stage `fits`."""
    ledger = root / "ledger.jsonl"
    return ledger.read_text().count('"fits/') if ledger.exists() else 0


def wait_for(holds: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """Wait until a condition holds, or the run has ended."""
    while not holds() and process.poll() is None:
        time.sleep(0.1)


def solving(client: Client) -> dict[str, bool]:
    """Return whether each worker runs a task of the stage `fits`; the others may hold panels of its kernel."""
    return {address: any(str(key).startswith("fits-") for key in keys) for address, keys in client.processing().items()}


def kill(client: Client, process: "subprocess.Popen[str]", solves: bool) -> None:
    """Kill a worker during a solve: one that runs its task, or, if `solves` is false, another one if there is any."""
    wait_for(lambda: any(solving(client).values()), process)
    time.sleep(DELAY_S)
    found = solving(client)
    address = next((address for address, busy in found.items() if busy == solves), next(iter(found)))
    os.kill(client.run(os.getpid, workers=[address])[address], signal.SIGKILL)


def disturb(client: Client, folder: Path, root: Path, options: list[str]) -> None:
    """Run a sweep; kill a worker that holds panels, one that solves, and the driver, and resume."""
    process = command(folder, root, *options)
    for solves in (False, True):
        count = finished(root)
        wait_for(lambda count=count: finished(root) > count, process)  # type: ignore[misc]
        kill(client, process, solves)
    count = finished(root)
    wait_for(lambda: finished(root) > count, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    end(command(folder, root, *options))


def tables(root: Path) -> dict[str, bytes]:
    found = {path.name: path.read_bytes() for path in (root / "results").glob("*.csv")}
    return {name: content for name, content in found.items() if name != "timings.csv"}


def measure(folder: Path, problem: str, rows: int, memory: str, data: Path) -> Measured:
    """Run the sweep of a problem on four workers with and without disturbances, and in memory."""
    (folder / "sweep.toml").write_text(tomli_w.dumps(config(problem, rows, memory)))
    plain, disturbed, whole = folder / "plain", folder / "disturbed", folder / "whole"
    with (
        LocalCluster(n_workers=WORKERS, threads_per_worker=1, memory_limit=WORKER_MEMORY, dashboard_address=None) as c,
        Client(c) as client,
    ):
        options = ["--cluster", c.scheduler_address, "--data-dir", str(data)]
        begin = time.perf_counter()
        end(command(folder, plain, *options))
        seconds = time.perf_counter() - begin
        disturb(client, folder, disturbed, options)
    (folder / "sweep.toml").write_text(tomli_w.dumps(config(problem, rows, "64 GiB")))
    end(command(folder, whole, "--workers", "1", "--data-dir", str(data)))
    path, expected = (pd.read_csv(root / "results/path.csv") for root in (plain, whole))
    timings = pd.read_csv(plain / "results/timings.csv")
    return Measured(
        seconds,
        float(timings["peak_memory_bytes"].max()),
        float(path["certificate"].max()),
        tables(plain) == tables(disturbed),
        float(np.abs(path[ERRORS] - expected[ERRORS]).max(axis=None)),
        finished(plain),
    )


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else ROWS
    memory = sys.argv[2] if len(sys.argv) > 2 else MEMORY
    for problem in DATASETS:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(Path(folder), problem, rows, memory, Path(os.environ["PIPELINE_DATA_DIR"]))
        print(
            f"{problem}, {rows} rows: {found.seconds:.0f} s, {found.parts} tasks of fits, "
            f"peak {found.peak / 2**20:.0f} MiB, largest certificate {found.certificate:.1e}, "
            f"largest difference of an error from a fit in memory {found.difference:.1e}; "
            f"after kills the tables are {'the same' if found.is_same else 'DIFFERENT'}",
            flush=True,
        )


if __name__ == "__main__":
    main()
