"""Compare two workers with one on the statistics of a large dataset, the stages `tiles` and `reduce` of the pipeline.

    python -m tests.benchmarks.bench_scaling [--rows 20000] [--folder DIR] [--repeats 3] [--saturation]

Prints the limits of the machine (for one process and for two, without the pipeline), then the runs relative to them.
A run of 20,000 rows and 4 kernels writes 6.9 GB to the folder, and removes them. Times are those from the submission of
the first task to the ledger entry of the last one, without the start of workers. With --saturation, it also prints the
number of workers at which the driver or the store becomes the bottleneck.
"""

import argparse
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.cluster import open_cluster, warm_up
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.prepared import prepare_dataset
from kernel_pipeline.events import Emitter
from kernel_pipeline.plan.plan import make_plan
from kernel_pipeline.run.driver import Options, Run
from kernel_pipeline.run.executor import Execution
from kernel_pipeline.run.interrupt import Interrupt
from kernel_pipeline.run.schedule import Schedule
from kernel_pipeline.run.worker_modules import worker_modules
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.ledger import Ledger
from kernel_pipeline.store.local_storage import LocalStorage
from kernel_pipeline.store.reports import TaskReport
from tests.benchmarks import limits
from tests.benchmarks.driver_cost import accept_workers, measure_driver
from tests.benchmarks.saturation import GB, Kind, print_saturation

KERNELS = 4
GOAL = 1.7
STATISTICS_STAGES = ("tiles", "reduce")
# Rows of the sweeps whose fits are timed for --saturation; the time of a fit grows with their cube.
FIT_ROWS = (1000, 4000)
# Enough for several results to arrive at a time and share a write of the ledger, as with many workers.
DRIVER_WORKERS = 8
DRIVER_TASKS = 1000


@dataclass(frozen=True)
class Measured:
    """Measurements of a run of some stages."""

    seconds: float
    tiles: int
    stored: int
    """Bytes of Gram matrices."""
    finished: dict[str, TaskReport]

    def of(self, stage: str) -> list[float]:
        """Return the seconds of each task of a stage."""
        return [entry.seconds for name, entry in self.finished.items() if name.startswith(f"{stage}/")]


def sweep(rows: int) -> Config:
    family = {"family": "gaussian", "log2_gamma": [-3, KERNELS - 4]}
    made = {"name": "made", "source": "synthetic", "task": "regression", "rows": rows, "kernels": [family]}
    return Config.model_validate({"name": "scaling", "baselines": False, "methods": ["unif"], "dataset": [made]})


def measure(config: Config, folder: Path, workers: int, stages: Iterable[str]) -> Measured:
    """Run some stages of a sweep in a temporary directory."""
    os.sync()  # do not measure pending writes of an earlier run
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        root = Path(temporary)
        samples = {dataset.name: prepare_dataset(config, dataset, folder) for dataset in config.dataset}
        plan = make_plan(config, [loaded.info for loaded in samples.values()])
        ledger = Ledger(LocalStorage(root))
        run = Run(LocalStorage(root), plan, samples.__getitem__, ledger, Options(), Emitter())
        run.store_data()
        done = {task.name for task in plan.tasks if task.stage not in stages}
        with Interrupt() as interrupt, open_cluster(Profile(jobs=workers), root) as cluster:
            schedule = Schedule(plan.tasks, done)
            execution = Execution(cluster, schedule, run.store, run.record, accept_workers, interrupt, True, print)
            begin = time.perf_counter()
            execution.run()
            seconds = time.perf_counter() - begin
        ledger.close()
        gram = [path for path in (root / "gram.zarr/made/gram").rglob("*") if path.is_file()]
        chunks = [path for path in gram if path.name != "zarr.json"]
        return Measured(seconds, len(chunks), sum(path.stat().st_size for path in chunks), run.finished.tasks)


def print_limits(folder: Path, side: int) -> dict[str, dict[int, float]]:
    """Print and return the rates of one process and of two."""
    print(f"{'limits, GB/s':14} {'1':>7} {'2':>7}  ratio")
    rates: dict[str, dict[int, float]] = {}
    for probe in (limits.expm1, limits.copy, limits.tile, limits.store, limits.disk):
        of = rates[probe.__name__] = {n: limits.measured_rate(probe, n, folder, side, KERNELS) for n in (1, 2)}
        print(f"{probe.__name__:14} {of[1] / GB:7.2f} {of[2] / GB:7.2f}  {of[2] / of[1]:5.2f}", flush=True)
    return rates


def print_run(workers: int, run: Measured, rates: dict[str, dict[int, float]]) -> None:
    """Print the times of a run, and their ratio to the time that computing and writing all tiles needs at least."""
    tasks = run.of("tiles")
    best = run.stored / rates["tile"][workers] + run.stored / rates["store"][workers]
    print(
        f"{workers} worker(s): {run.seconds:6.1f} s, {run.stored / GB:.2f} GB, "
        f"{run.stored / run.seconds / GB:.2f} GB/s; "
        f"{len(tasks)} tasks of {statistics.median(tasks):.2f} s ({min(tasks):.2f} to {max(tasks):.2f}), "
        f"{sum(tasks) / run.tiles * 1000:.1f} ms per tile; reduce {sum(run.of('reduce')):.2f} s; "
        f"{run.seconds / best:.2f} times the limit of {best:.1f} s",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--saturation", action="store_true")
    arguments = parser.parse_args()
    config, folder = sweep(arguments.rows), arguments.folder
    side = min(config.storage.tile, arguments.rows)
    needed, free = KERNELS * arguments.rows * (arguments.rows + 2 * side) * 4, shutil.disk_usage(folder).free
    if 2 * needed > free:
        parser.error(f"a run writes {needed / GB:.1f} GB, and {folder} has {free / GB:.1f} GB free")
    print(f"{arguments.rows:,} rows, {KERNELS} kernels, tiles of {side}; {os.cpu_count()} cores, load ", end="")
    print(f"{os.getloadavg()[0]:.1f}; {free / GB:.0f} GB free")
    rates = print_limits(folder, side)
    warm_up(Profile(), (*worker_modules(config), "tests.benchmarks.empty_tasks"))
    runs: dict[int, list[Measured]] = {1: [], 2: []}
    for _ in range(arguments.repeats):
        for workers, done in runs.items():
            done.append(measure(config, folder, workers, STATISTICS_STAGES))
            print_run(workers, done[-1], rates)
    one, two = ([run.seconds for run in runs[workers]] for workers in (1, 2))
    pairs = sorted(a / b for a, b in zip(one, two, strict=True))
    ratio = statistics.median(one) / statistics.median(two)
    print(f"ratio {ratio:.2f} of the medians ({pairs[0]:.2f} to {pairs[-1]:.2f} by pair); the goal is {GOAL}")
    if arguments.saturation:
        tiles = [entry for run in runs[1] for name, entry in run.finished.items() if name.startswith("tiles/")]
        seconds = statistics.median(entry.seconds for entry in tiles)
        count = len(tiles) // arguments.repeats
        kinds = [Kind(f"tiles, m = {arguments.rows:,}", seconds, runs[1][0].stored / count, count)]
        for rows in FIT_ROWS:
            fits = measure(sweep(rows), folder, 1, STAGES).of("fits")
            kinds.append(Kind(f"fits, m = {rows:,}", statistics.median(fits), 0.0, len(fits)))
        cost = measure_driver(DRIVER_TASKS, DRIVER_TASKS, 10, DRIVER_WORKERS)
        print_saturation(kinds, cost, rates["disk"][2])


if __name__ == "__main__":
    main()
