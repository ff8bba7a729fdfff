"""Compare the measured time and peak memory of each stage of finished runs with their estimates.

    python -m tests.benchmarks.bench_estimates RUN_DIRECTORY...

Estimated times are those of `pipeline plan`, before the first task, for the speed of this machine, which is measured
now. The runs should therefore have been executed on this machine, which should have nothing else to do, then and now.
Both times are seconds of one core, added up over the tasks of a stage; a task that can be divided among the workers
counts once for each of them. Its memory is that of the worker on which it was started. The command fails if a stage
that took more than 10 s was estimated wrongly by more than a factor of two, or if a task took more memory than
projected.
"""

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path

from kernel_pipeline.plan.calibration import measure_rates
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.estimates import TaskTime, task_times
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.progress_file import last_workers
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.addresses import open_storage

MIN_COMPARED_S, MAX_FACTOR = 10.0, 2.0


@dataclass
class Stage:
    """Estimates and measurements of one stage of a dataset."""

    projected_bytes: int
    estimated: float = 0.0
    seconds: float = 0.0
    peak_bytes: int = 0

    @property
    def wrong(self) -> str:
        """Return which of the estimates do not hold; empty if they do."""
        is_compared = self.seconds >= MIN_COMPARED_S
        factor = max(self.seconds, self.estimated) / max(min(self.seconds, self.estimated), 1e-9)
        time = "time" if is_compared and factor > MAX_FACTOR else ""
        memory = "memory" if self.peak_bytes > self.projected_bytes else ""
        return " and ".join(filter(None, (time, memory)))


def stages(dataset: DatasetPlan, manifest: Manifest, times: dict[str, TaskTime], workers: int) -> dict[str, Stage]:
    """Return the stages of a dataset, given the estimated times of its planned tasks.

    Raises
    ------
    SystemExit
        If some tasks have no result.
    """
    reports = manifest.finished.tasks
    found = {stage: Stage(dataset.memory[stage]) for stage in STAGES if dataset.stages.get(stage)}
    for task in dataset.tasks:
        found[task.stage].estimated += times[task.name].seconds + times[task.name].requested
    for task in dataset.known_tasks(reports):
        if task.name not in reports or reports[task.name].failed:
            sys.exit(
                f"{manifest.root}: the task {task.name} has no result; run `pipeline resume {manifest.root}` first"
            )
        stage, report = found[task.stage], reports[task.name]
        stage.seconds += report.seconds * (workers if task.may_spread else 1)
        stage.peak_bytes = max(stage.peak_bytes, report.peak_memory)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare measured times and peak memory of runs with their estimates.")
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN_DIRECTORY")
    folders, rates, all_hold = parser.parse_args().runs, measure_rates(), True
    print(
        f"One core of this machine, with a load of {os.getloadavg()[0]:.1f}: {rates.flops / 1e9:.0f} GFlop/s, "
        f"{rates.entries / 1e6:.0f} million kernel entries per second, {rates.memory_bytes / 1e9:.0f} GB/s.\n"
    )
    print("| run, dataset | stage | estimated s | measured s | ratio | projected MiB | peak MiB | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    for folder in folders:
        manifest = read_manifest(open_storage(str(folder)))
        plan = manifest.plan()
        if plan is None:
            sys.exit(f"{folder} has no data yet")
        times, workers = task_times(plan, rates), last_workers(manifest.root) or 1
        for dataset in plan.datasets:
            for name, stage in stages(dataset, manifest, times, workers).items():
                all_hold &= not stage.wrong
                print(
                    f"| {folder.name}, {dataset.name} | {name} | {stage.estimated:.1f} | {stage.seconds:.1f} | "
                    f"{stage.seconds / stage.estimated:.2f} | {stage.projected_bytes / 2**20:,.0f} | "
                    f"{stage.peak_bytes / 2**20:,.0f} | {stage.wrong} |"
                )
    sys.exit(0 if all_hold else 1)


if __name__ == "__main__":
    main()
