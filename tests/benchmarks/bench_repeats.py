"""Measure the statistics of several repeats and of permuted labels: time relative to one repeat, and to as many runs.

    python -m tests.benchmarks.bench_repeats [ROWS] [REPEATS]

All tasks of the stages `tiles` and `reduce` run in this process, on one thread, with and without stored Gram matrices.
The times are those of the processor, so that other processes affect them little; the best of three is shown.
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from kernel_pipeline.config.loading import parse_config
from kernel_pipeline.run.worker import run_tasks
from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.store.local_storage import LocalStorage
from tests.benchmarks.environment import ONE_THREAD
from tests.helpers.sweeps import plan_in

KERNELS, FEATURES, ROWS, REPEATS, PERMUTATIONS, RUNS = 16, 8, 4000, 10, 100, 3


def sweep(rows: int, repeats: int, permutations: int, mode: str) -> dict[str, Any]:
    return {
        "name": "repeats",
        "methods": ["unif"],
        "protocol": {"repeats": repeats, "permutations": permutations},
        "storage": {"gram": mode},
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


def measure(rows: int, repeats: int, permutations: int, mode: str) -> dict[str, float]:
    """Return the seconds of each stage of the statistics."""
    with tempfile.TemporaryDirectory() as folder:
        plan, _ = plan_in(Path(folder), parse_config(sweep(rows, repeats, permutations, mode), "a benchmark"))
        store, seconds = RunStore(LocalStorage(Path(folder))), {}
        for stage in ("tiles", "reduce"):
            begin = time.process_time()
            for task in plan.datasets[0].stages[stage]:
                run_tasks([task], store)
            seconds[stage] = time.process_time() - begin
    return seconds


def main() -> None:
    given = [int(text) for text in sys.argv[1:]]
    rows, repeats = given + [ROWS, REPEATS][len(given) :]
    print(f"{rows:,} samples, {KERNELS} Gaussian kernels, 5 folds; seconds of one core")
    for mode in ("keep", "recompute"):
        found = {}
        for case in ((1, 0), (repeats, 0), (1, PERMUTATIONS)):
            runs = [measure(rows, *case, mode) for _ in range(RUNS)]
            found[case] = {stage: min(run[stage] for run in runs) for stage in runs[0]}
            seconds = ", ".join(f"{stage} {value:.2f}" for stage, value in found[case].items())
            print(f"gram = {mode!r}, {case[0]} repeats, {case[1]} permutations: {seconds}")
        one, several, permuted = (sum(seconds.values()) for seconds in found.values())
        print(f"  {repeats} repeats: {several / one:.1f} x one repeat, {several / one / repeats:.2f} x {repeats} runs")
        print(f"  {PERMUTATIONS} permutations: {permuted / one:.1f} x none")


if __name__ == "__main__":
    if os.environ.get("OMP_NUM_THREADS") == "1":
        main()
    else:
        subprocess.run(
            [sys.executable, "-m", "tests.benchmarks.bench_repeats", *sys.argv[1:]], env=ONE_THREAD, check=True
        )
