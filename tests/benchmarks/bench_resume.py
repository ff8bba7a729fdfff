"""What durability costs: the ledger and verification of a sweep, and resuming a finished run of 10,000 tasks.

    python tests/benchmarks/bench_resume.py [--keep DIR]

Makes a run of 200 small datasets, 10,000 tasks, without a cluster; then resumes it by the command line, quick and full.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import tomli_w
from rich.console import Console

from pipeline.config_file import read_config
from pipeline.layout import LEDGER
from pipeline.ledger import Ledger
from pipeline.plan import make_plan
from pipeline.record import write_record
from pipeline.run import Options, Run
from pipeline.samples import load_samples
from pipeline.store import RunStore
from pipeline.worker import run_tasks

DATASETS = 200
FOLDS = 10
SWEEP = {
    "name": "many",
    "methods": ["unif", "align", "alignf", "best-kernel"],
    "protocol": {"folds": FOLDS},
    "fit": {"krr": {"from": -4, "to": 0, "step": 4}},
    "dataset": [
        {
            "name": f"made-{number}",
            "source": "synthetic",
            "task": "regression",
            "rows": 40,
            "kernels": [{"family": "gaussian", "log2_gamma": [-2, 0]}],
        }
        for number in range(DATASETS)
    ],
}


def make_run(folder: Path) -> tuple[Path, int]:
    """A finished run of many small tasks, each run in this process."""
    config_path, root = folder / "many.toml", folder / "run"
    config_path.write_text(tomli_w.dumps(SWEEP))
    config, _ = read_config(str(config_path))
    samples = {dataset.name: load_samples(config, dataset, folder) for dataset in config.dataset}
    plan = make_plan(config, [loaded.outline for loaded in samples.values()])
    root.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(root / LEDGER)
    run = Run(root, plan, samples.__getitem__, ledger, Options(), Console(quiet=True))
    write_record(root, plan, folder, ledger)
    run.store_data()
    for task in plan.tasks:
        run.record(run_tasks([task], RunStore(root)))
    run.tables()
    ledger.close()
    return root, len(plan.tasks)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="make the run here, or take the one that is here")
    keep = parser.parse_args().keep
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "run" / LEDGER).exists():
            begin = time.perf_counter()
            _, tasks = make_run(folder)
            print(f"made a run of {tasks:,} tasks in {time.perf_counter() - begin:.0f} s")
        files = sum(1 for path in (folder / "run").rglob("*") if path.is_file())
        for arguments in (
            ["resume", "run"],
            ["resume", "run", "--verify", "full"],
            ["verify", "run"],
            ["status", "run"],
        ):
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", "from pipeline.cli import main; main()", *arguments],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            print(f"pipeline {' '.join(arguments)}: {time.perf_counter() - begin:.2f} s for {files:,} files")


if __name__ == "__main__":
    main()
