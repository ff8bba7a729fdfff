"""Measure the cost of durability: resuming 10,000 finished tasks, and the share of ledger and digests in a sweep.

    python -m tests.benchmarks.bench_resume [--keep DIR]
    python -m tests.benchmarks.bench_resume --sweep paper-gaussian --data-dir DIR

The first command creates a run of 200 small datasets (10,000 tasks) without a cluster, and resumes it with quick and
with full verification. The second runs a sweep and sums the time that the driver spends on the ledger and on
verification, and that of digests in workers, which is the time to read all files again, divided by the workers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tomli_w

from kernel_pipeline.cluster import worker_limits
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.config.loading import read_config
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.events import Emitter
from kernel_pipeline.plan.plan import make_plan
from kernel_pipeline.run.driver import Options, Run
from kernel_pipeline.run.manifest import read_manifest, write_manifest
from kernel_pipeline.run.sweeps import run_sweep
from kernel_pipeline.run.verification import check
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.paths import LEDGER

DATASETS = 200
FOLDS = 10
SWEEP = {
    "name": "many",
    "baselines": False,
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
    """Create a finished run of many small tasks, which are executed in this process."""
    config_path, root = folder / "many.toml", folder / "run"
    config_path.write_text(tomli_w.dumps(SWEEP))
    config, _ = read_config(str(config_path))
    samples = {dataset.name: prepare_dataset(config, dataset, folder) for dataset in config.dataset}
    plan = make_plan(config, [loaded.info for loaded in samples.values()])
    root.mkdir(parents=True, exist_ok=True)
    ledger = Ledger(LocalStorage(root))
    run = Run(LocalStorage(root), plan, samples.__getitem__, ledger, Options(), Emitter())
    write_manifest(LocalStorage(root), plan, folder, ledger)
    run.store_data()
    for task in plan.tasks:
        run.record(run_tasks([task], RunStore(LocalStorage(root))))
    run.tables()
    ledger.close()
    return root, len(plan.tasks)


def measure_sweep(name: str, data_dir: Path) -> None:
    """Print the share of durability in the time of a whole sweep."""
    spent: defaultdict[str, float] = defaultdict(float)

    def timed(what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*arguments: Any, **options: Any) -> Any:
            begin = time.perf_counter()
            try:
                return function(*arguments, **options)
            finally:
                spent[what] += time.perf_counter() - begin

        return wrapped

    for owner, method in ((Ledger, "append"), (Ledger, "read"), (Run, "check")):
        setattr(owner, method, timed(f"{owner.__name__}.{method}", getattr(owner, method)))
    config, _ = read_config(name)
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary) / "run"
        begin = time.perf_counter()
        run_sweep(config, data_dir, LocalStorage(root), Options())
        total = time.perf_counter() - begin
        manifest = read_manifest(LocalStorage(root))
        plan = manifest.plan()
        assert plan is not None
        begin = time.perf_counter()
        report = check(plan, manifest.finished, LocalStorage(root), full=True)
        spent["digests by workers"] = (time.perf_counter() - begin) / worker_limits(Profile())[0]
        files = sum(len(entry.digests) for entry in report.valid.entries())
    for what, seconds in spent.items():
        print(f"{what}: {seconds:.3f} s")
    share = sum(spent.values()) / total
    print(f"{name}: {total:.1f} s, {len(plan.tasks):,} tasks, {files:,} files; durability takes {share:.2%}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--keep", type=Path, help="folder of the run, which is created if it does not exist")
    parser.add_argument("--sweep", help="measure the share of durability in this config")
    parser.add_argument("--data-dir", type=Path, default=Path())
    arguments = parser.parse_args()
    if arguments.sweep:
        measure_sweep(arguments.sweep, arguments.data_dir)
        return
    keep = arguments.keep
    with tempfile.TemporaryDirectory() as temporary:
        folder = keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / "run" / LEDGER).exists():
            begin = time.perf_counter()
            _, tasks = make_run(folder)
            print(f"created a run of {tasks:,} tasks in {time.perf_counter() - begin:.0f} s")
        files = sum(1 for path in (folder / "run").rglob("*") if path.is_file())
        for line in ("resume run", "resume run --verify full", "verify run", "status run"):
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, "-c", "from kernel_pipeline.cli.main import main; main()", *line.split()],
                cwd=folder,
                check=True,
                stdout=subprocess.DEVNULL,
            )
            print(f"pipeline {line}: {time.perf_counter() - begin:.2f} s for {files:,} files")


if __name__ == "__main__":
    main()
