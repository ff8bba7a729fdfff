"""Small sweeps, and two ways to run them: the command line, and one task after the other in this process."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from pipeline.config import Config
from pipeline.config_file import parse_config
from pipeline.layout import LEDGER, create_arrays
from pipeline.ledger import Ledger
from pipeline.plan import Plan, make_plan
from pipeline.record import write_record
from pipeline.samples import Samples, load_samples
from pipeline.store import RunStore
from pipeline.task import Finished
from pipeline.worker import run_tasks

SMALL: dict[str, Any] = {
    "name": "small",
    "seed": 3,
    "methods": ["unif", "align", "alignf", "best-kernel"],
    "protocol": {"folds": 4},
    "fit": {"krr": {"from": -20, "to": 0, "step": 4}, "svm": {"from": 0, "to": 12, "step": 4}},
    "storage": {"tile": 37},
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


def plan_in(root: Path, config: Config) -> tuple[Plan, list[Samples]]:
    """Plan a sweep and make its run directory, with no task done."""
    samples = [load_samples(config, dataset, root) for dataset in config.dataset]
    plan = make_plan(config, [loaded.outline for loaded in samples])
    root.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(root / LEDGER)
    write_record(root, plan, root, ledger)
    ledger.close()
    for dataset, loaded in zip(plan.datasets, samples, strict=True):
        create_arrays(root, dataset, loaded)
    return plan, samples


def run_here(root: Path, config: Config) -> tuple[Plan, list[Samples], dict[str, Finished]]:
    """Run every task in this process, in the order of the plan."""
    plan, samples = plan_in(root, config)
    return plan, samples, {task.name: run_tasks([task], RunStore(root))[0] for task in plan.tasks}


def start(*arguments: str | Path, cwd: Path, root: Path | None = None) -> subprocess.Popen[str]:
    """Start the command line as a process of its own, with the packages under `root` (this source tree without it)."""
    packages = root or Path(__file__).parents[2]
    return subprocess.Popen(
        [sys.executable, "-c", "from pipeline.cli import main; main()", *map(str, arguments)],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(packages)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def pipeline(*arguments: str | Path, cwd: Path, root: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line to its end."""
    process = start(*arguments, cwd=cwd, root=root)
    output, errors = process.communicate(timeout=200)
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)
