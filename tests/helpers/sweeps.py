"""Define small sweeps, and run them with the command line or task by task in this process."""

import io
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from rich.console import Console

from kernel_pipeline.cli.run_view import RunView, print_outcome
from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import PreparedDataset, prepare_dataset
from kernel_pipeline.plan.data_identity import data_identity
from kernel_pipeline.plan.plan import Plan, make_plan
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.writing import write_tables
from kernel_pipeline.run.driver import Options
from kernel_pipeline.run.manifest import write_manifest
from kernel_pipeline.run.stored_data import create_arrays
from kernel_pipeline.run.sweeps import resume_sweep
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.ledger_entries import DataEntry, LedgerEntry
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import LEDGER
from kernel_pipeline.store.reports import TaskReport
from tests.helpers.few_figures import MAIN

SMALL: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "baselines": False,
    "methods": ["unif", "align", "alignf", "best-kernel"],
    "protocol": {"folds": 4},
    "fit": {"krr": {"from": -20, "to": 0, "step": 4}, "svm": {"from": 0, "to": 12, "step": 4}},
    "storage": {"tile": 37, "keep_combined": True},  # so that tests can damage the combined kernels
    "dataset": [
        {
            "name": "wave",
            "source": "synthetic",
            "task": "regression",
            "rows": 101,
            "kernels": [{"family": "gaussian", "log2_gamma": [-6, -4]}, {"family": "gaussian", "log2_gamma": [0, 1]}],
        },
        {
            "name": "flowers",
            "source": "sklearn",
            "id": "iris",
            "task": ["regression", "classification"],
            "positive": ["virginica"],
            "rows": 90,
            "kernels": [{"family": "gaussian", "log2_gamma": [-3, 1]}],
        },
    ],
}


def small_config(**changes: Any) -> Config:
    return parse_config(SMALL | changes, "a test")


def smaller_config(**changes: Any) -> Config:
    """Return a config with the same datasets, fewer rows (2 x 2 tiles), two methods and three trials: 34 tasks."""
    datasets = [dataset | {"rows": 50} for dataset in SMALL["dataset"]]
    return small_config(methods=["unif", "alignf"], protocol={"folds": 3}, dataset=datasets, **changes)


def plan_in(root: Path, config: Config, data: Path | None = None) -> tuple[Plan, list[PreparedDataset]]:
    """Plan a sweep and create its run directory, with the stored data and without finished tasks."""
    samples = [prepare_dataset(config, dataset, data or root) for dataset in config.dataset]
    plan = make_plan(config, [loaded.info for loaded in samples])
    root.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(LocalStorage(root))
    write_manifest(LocalStorage(root), plan, data or root, ledger)
    for dataset, loaded in zip(plan.datasets, samples, strict=True):
        digests = create_arrays(RunStore(LocalStorage(root)), dataset, loaded)
        ledger.append(DataEntry(info=dataset.info, identity=data_identity(dataset), digests=digests))
    ledger.close()
    return plan, samples


def run_here(root: Path, config: Config) -> tuple[Plan, list[PreparedDataset], dict[str, TaskReport]]:
    """Run every task in this process, in the order of the plan."""
    plan, samples = plan_in(root, config)
    finished = {task.name: run_tasks([task], RunStore(LocalStorage(root)))[0] for task in plan.tasks}
    note(root, *finished.values())
    return plan, samples, finished


def write_results(root: Path, plan: Plan, finished: Mapping[str, TaskReport]) -> pd.DataFrame:
    """Write the tables of finished tasks; return the rows."""
    context = TableContext(plan, finished, RunStore(LocalStorage(root)))
    write_tables(LocalStorage(root), context)
    return context.required_table("rows")


def resume_here(root: Path) -> tuple[int, str]:
    """Resume a run that has no pending tasks; return the exit code and the output."""
    output = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernel_pipeline.run.options.open_cluster", None)  # no worker may be started
        console = Console(file=output, width=200)
        outcome = resume_sweep(LocalStorage(root), None, Options(), [RunView(console)])
        print_outcome(console, outcome)
        return outcome.exit_code, output.getvalue()


def fail(root: Path, plan: Plan, name: str, reason: str) -> set[str]:
    """Change a finished run into one in which a task failed; return the names of the tasks that depend on it."""
    task = next(task for task in plan.tasks if task.name == name)
    (dataset,) = (dataset for dataset in plan.datasets if dataset.name == task.dataset)
    dependents = set(dataset.graph.first_marked({name}))
    forget(root, name, *dependents)
    note(root, TaskReport(task=name, identity=task.identity, failed=f"failed: {reason}"))
    return dependents


def note(root: Path, *entries: LedgerEntry) -> None:
    """Append entries to the ledger of a run directory."""
    ledger = Ledger(LocalStorage(root))
    ledger.append(*entries)
    ledger.close()


def entries_of(root: Path) -> dict[str, LedgerEntry]:
    """Return the current entries of the ledger of a run directory, by name."""
    return {entry.name: entry for entry in Ledger(LocalStorage(root)).read().entries()}


def forget(root: Path, *names: str) -> dict[str, LedgerEntry]:
    """Remove entries from the ledger of a run directory, and return the others."""
    entries = entries_of(root)
    for name in names:
        del entries[name]
    (root / LEDGER).unlink()
    note(root, *entries.values())
    return entries


def flip(path: Path) -> None:
    """Change a bit inside a chunk, which changes neither its size nor the checksum at its end."""
    content = bytearray(path.read_bytes())
    content[9] ^= 4
    path.write_bytes(content)


def start(
    *arguments: str | Path, cwd: Path, root: Path | None = None, within: Sequence[str] = ()
) -> subprocess.Popen[str]:
    """Start the command line in a new process, with the packages below `root`; by default, this source tree.

    With the packages of this source tree, few figures are drawn.

    Parameters
    ----------
    within
        Beginning of the command, such as a program that runs the rest of it in another namespace.
    """
    packages = root or Path(__file__).parents[2]
    main = "from kernel_pipeline.cli.main import main; main()" if root else MAIN
    return subprocess.Popen(
        [*within, sys.executable, "-c", main, *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(packages)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def pipeline(
    *arguments: str | Path, cwd: Path, root: Path | None = None, timeout: float = 200
) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    process = start(*arguments, cwd=cwd, root=root)
    output, errors = process.communicate(timeout=timeout)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
