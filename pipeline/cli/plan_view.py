"""Show a plan on a terminal."""

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from kernel_pipeline.cluster import job_script
from kernel_pipeline.cluster.profile import Profile
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.stages.tiles import TilesTask
from kernel_pipeline.store.paths import LOGS
from kernel_pipeline.text import format_bytes


def print_plan(console: Console, plan: Plan, workers: int, limit: int | None) -> None:
    """Print the tasks of a plan and what they cost."""
    config = plan.config
    methods = ", ".join(method.method_id for method in config.methods)
    console.print(
        f"[bold]{config.name}[/bold]: methods {methods}; {config.protocol.folds} folds; "
        f"{len(config.fit.krr.values())} ridges, {len(config.fit.svm.values())} values of C",
        highlight=False,
        soft_wrap=True,
    )
    table = Table(box=None, padding=(0, 1, 0, 0))
    for heading in ("dataset", "learns", "samples", "kernels", "tiles", "tasks", "disk", "memory"):
        table.add_column(heading, justify="left" if heading in ("dataset", "learns") else "right", no_wrap=True)
    for dataset in plan.datasets:
        table.add_row(
            dataset.name,
            "\n".join(dataset.tasks_learned),
            f"{dataset.info.rows:,} x {dataset.info.columns:,}",
            f"{len(dataset.kernels):,}",
            f"{sum(len(task.tiles) for task in dataset.of(TilesTask)):,}",
            f"{len(dataset.tasks):,}",
            format_bytes(dataset.disk_bytes),
            format_bytes(max(dataset.memory.values())),
        )
    console.print(table)
    counts = Counter(task.stage for task in plan.tasks)
    tiles = f", in tiles of {config.storage.tile} x {config.storage.tile}" if counts["tiles"] else ""
    size, stage, dataset = plan.largest
    console.print(
        f"{len(plan.tasks):,} tasks: "
        f"{', '.join(f'{stage} {counts[stage]:,}' for stage in STAGES if counts[stage])}; "
        f"{format_bytes(plan.disk_bytes)} on disk{tiles}.\n"
        f"The largest task, of stage {stage!r} and dataset {dataset.name!r}, needs about {format_bytes(size)}; "
        f"each of {workers} worker(s) may use "
        f"{format_bytes(limit) if limit is not None else 'as much as its cluster allows'}.",
        highlight=False,
        soft_wrap=True,
    )
    for line in lines(plan.notes()):
        console.print(line, highlight=False, soft_wrap=True, markup=False)


def print_job(console: Console, profile: Profile, root: Path) -> None:
    """Print the script of a job, if the workers run in jobs."""
    script = job_script(profile, root / LOGS)
    if script is not None:
        count = f"{profile.adapt[0]} to {profile.adapt[1]}" if profile.adapt else f"{profile.max_jobs}"
        console.print(f"\nThe script of each of {count} jobs:\n", highlight=False)
        console.print(script, highlight=False, soft_wrap=True, markup=False)
