"""Show a plan on a terminal."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.cluster import job_script
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.config.views import describe_views
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.estimates import stage_seconds, task_times
from kernel_pipeline.plan.large_fits import describe_parts
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.plan.training_sizes import training_samples
from kernel_pipeline.plan.work import Rates
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.paths import LOGS
from kernel_pipeline.tasks.learners.ridge_cost import choose_approach
from kernel_pipeline.text import counted, format_bytes, format_seconds


def print_plan(
    console: Console,
    plan: Plan,
    workers: int,
    limit: int | None,
    free: int | None = None,
    rates: Rates | None = None,
) -> None:
    """Print the tasks of a plan, the memory and disk space they need, and their estimated time.

    Parameters
    ----------
    workers, limit
        Number of workers, and the memory that each of them may use, or None if that memory is not known.
    free
        Free disk space in the default folder of runs; None if it is not known.
    rates
        Speed of the machine; None to print no estimated time.
    """
    config = plan.config
    methods = ", ".join(method.method_id for method in config.used_methods)
    repeats = f", {config.protocol.repeats} repeats" if config.protocol.repeats > 1 else ""
    console.print(
        f"[bold]{config.name}[/bold]: methods {methods}; {config.protocol.folds} folds{repeats}; "
        f"{counted(len(config.fit.krr.values()), 'ridge')}, "
        f"{counted(len(config.fit.svm.values()), 'value of C', 'values of C')}",
        highlight=False,
        soft_wrap=True,
    )
    console.print(_dataset_table(plan.datasets))
    print_line(console, _describe_tasks(plan, free))
    if size := plan.temporary_bytes(workers, limit):
        print_line(console, f"Temporary files (TMPDIR) need up to {format_bytes(size)} for all workers together.")
    print_line(console, _describe_memory(plan, workers, limit))
    if rates is not None:
        print_line(console, describe_times(plan, rates, workers))
    if free is not None and (shortage := plan.disk_shortage(free, "the folder of runs")):
        print_line(console, f"note: {shortage}")
    for dataset, planned in zip(config.dataset, plan.datasets, strict=True):
        samples = training_samples(planned.info, planned.folds)
        parts = describe_parts(planned.stages["fits"], config.fit.memory, samples)
        for line in (*describe_views(dataset, planned.info.features), ridge_approach(planned), *parts):
            if line:
                print_line(console, f"{dataset.name}: {line}")
    for line in (*plan.storage_lines(), *lines(plan.notes())):
        print_line(console, line)


def _dataset_table(datasets: Sequence[DatasetPlan]) -> Table:
    """Return a table with one row per dataset: its sizes, its tasks, and the disk space and memory that they need."""
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("dataset", "problem", "samples", "kernels", "tiles", "tasks", "disk", "memory"):
        table.add_column(heading, justify="left" if heading in ("dataset", "problem") else "right", no_wrap=True)
    for dataset in datasets:
        table.add_row(
            dataset.name,
            "\n".join(dataset.problems),
            f"{dataset.info.rows:,} x {dataset.info.columns:,}",
            f"{len(dataset.kernels):,}",
            f"{sum(len(task.tiles) for task in dataset.of(TilesTask)):,}",
            f"{len(dataset.tasks):,}",
            format_bytes(dataset.disk_bytes),
            format_bytes(max(dataset.memory.values())),
        )
    return table


def _describe_tasks(plan: Plan, free: int | None) -> str:
    """Return the number of tasks by stage, and the disk space that they need."""
    counts, tile_size = Counter(task.stage for task in plan.tasks), plan.config.storage.tile
    listed = ", ".join(f"{stage} {counts[stage]:,}" for stage in STAGES if counts[stage])
    tiles = f", in tiles of {tile_size} x {tile_size}" if counts["tiles"] else ""
    available = "" if free is None else f"; {format_bytes(free)} are free"
    return f"{len(plan.tasks):,} tasks: {listed}; {format_bytes(plan.disk_bytes)} on disk{tiles}{available}."


def _describe_memory(plan: Plan, workers: int, limit: int | None) -> str:
    """Return the memory that the largest task needs, and the memory that each worker may use."""
    size, stage, dataset = plan.largest
    allowed = "as much as its cluster allows" if limit is None else format_bytes(limit)
    return (
        f"The largest task, of stage {stage!r} and dataset {dataset.name!r}, needs about {format_bytes(size)}; "
        f"each worker may use {allowed} ({counted(workers, 'worker')})."
    )


def describe_times(plan: Plan, rates: Rates, workers: int) -> str:
    """Return the estimated time of a sweep, in total and by stage."""
    stages = stage_seconds(task_times(plan, rates).values(), workers)
    listed = ", ".join(f"{stage} {format_seconds(seconds)}" for stage, seconds in stages.items())
    return (
        f"Estimated time with {counted(workers, 'worker')} as fast as this machine: "
        f"{format_seconds(sum(stages.values()))} ({listed}), not including the start of the workers and the "
        "writing of the tables."
    )


def ridge_approach(dataset: DatasetPlan) -> str:
    """Describe how the ridge paths of a dataset are solved.

    The text is empty if there are none, or if each is solved by a single tridiagonalisation.
    """
    fit = next((task for task in dataset.of(FitTask) if task.problem == "regression"), None)
    if fit is None:
        return ""
    samples = training_samples(dataset.info, dataset.folds)
    approach = choose_approach(samples, fit.values, len(fit.target.columns))
    return "" if approach.is_tridiagonal else f"ridge paths of {samples:,} training samples: {approach.reason}"


def print_job(console: Console, profile: Profile, root: Path) -> None:
    """Print the script of the jobs in which workers run, if they run in jobs."""
    script = job_script(profile, root / LOGS)
    if script is not None:
        jobs = f"{profile.adapt[0]} to {profile.adapt[1]} jobs" if profile.adapt else counted(profile.max_jobs, "job")
        console.print(f"\nJob script, for {jobs}:\n", highlight=False)
        console.print(script, highlight=False, soft_wrap=True, markup=False)
