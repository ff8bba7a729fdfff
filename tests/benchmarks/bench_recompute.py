"""Measure the statistics pass without stored Gram matrices: time, peak memory of a worker, and the bare tile loop.

    python -m tests.benchmarks.bench_recompute [ROWS ...]

Each size runs in a process of its own, on one thread. The peak should be constant within 20 %, the exponent of the time
between 1.9 and 2.1, and the time at most 1.3 times that of the bare loop.
"""

import json
import math
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.stages.tile_sources import tile_slices
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.tasks.folds import fold_bounds
from kernel_pipeline.tasks.kernels.family import Samples, prepare_families
from kernel_pipeline.tasks.statistics.sums import Sums, add_tile
from tests.benchmarks.environment import ONE_THREAD
from tests.helpers.sweeps import plan_in

KERNELS, FEATURES, ROWS = 16, 8, (5000, 10_000)


def sweep(rows: int) -> dict[str, Any]:
    return {
        "name": "recompute",
        "baselines": False,
        "methods": ["unif"],
        "storage": {"gram": "recompute"},
        "dataset": [
            {
                "name": "made",
                "source": "synthetic",
                "task": "regression",
                "rows": rows,
                "features": FEATURES,
                "kernels": [{"family": "gaussian", "log2_gamma": [1 - KERNELS // 2, KERNELS // 2]}],
            }
        ],
    }


def measure(rows: int) -> dict[str, float]:
    """Run all tile tasks in this process, then the loop over the same tiles without the store."""
    with tempfile.TemporaryDirectory() as folder:
        plan, (samples,) = plan_in(Path(folder), parse_config(sweep(rows), "a benchmark"))
        (dataset,) = plan.datasets
        store, begin = RunStore(LocalStorage(Path(folder))), time.perf_counter()
        reports = [run_tasks([task], store)[0] for task in dataset.of(TilesTask)]
        seconds = time.perf_counter() - begin
    peak = max(report.peak_memory for report in reports)
    labels = samples.targets["regression"][:, None]
    bare = bare_loop(dataset, np.asarray(samples.features), labels - labels.mean(), fold_bounds(samples.fold))
    return {"rows": rows, "seconds": seconds, "bare": bare, "peak": peak, "projected": dataset.memory["tiles"]}


def bare_loop(plan: DatasetPlan, features: Any, targets: Any, bounds: Any) -> float:
    rows = plan.info.rows
    fill, sums = prepare_families(plan.families, Samples(features)), Sums.zeros(5, KERNELS, 1, rows)
    begin = time.perf_counter()
    for task in plan.of(TilesTask):
        for tile in task.tiles:
            add_tile(sums, fill, targets, bounds, tile_slices(tile, plan.tile_size, rows))
    return time.perf_counter() - begin


def main() -> None:
    """Print a table of all sizes."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(int(sys.argv[2]))))
        return
    found = []
    for rows in [int(rows) for rows in sys.argv[1:]] or ROWS:
        command = [sys.executable, "-m", "tests.benchmarks.bench_recompute", "--one", str(rows)]
        done = subprocess.run(command, env=ONE_THREAD, stdout=subprocess.PIPE, text=True, check=True)
        found.append(json.loads(done.stdout))
        row = found[-1]
        print(
            f"{row['rows']:7,} rows: {row['seconds']:7.2f} s, {row['seconds'] / row['bare']:.2f} times the bare loop, "
            f"peak {row['peak'] / 2**20:.0f} MiB (projected {row['projected'] / 2**20:.0f} MiB)"
        )
    for one, two in pairwise(found):
        exponent = math.log(two["seconds"] / one["seconds"]) / math.log(two["rows"] / one["rows"])
        print(
            f"{one['rows']:,} to {two['rows']:,}: exponent {exponent:.2f}, peak {two['peak'] / one['peak']:.2f} times"
        )


if __name__ == "__main__":
    main()
