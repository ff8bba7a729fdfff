"""Show the state of a run, read from its directory without a cluster."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_correlation, read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.submission import submitted
from kernel_pipeline.run.sweeps import MAX_NAMED
from kernel_pipeline.run.verification import TABLES, check, check_files
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage


def print_status(console: Console, root: Storage) -> None:
    """Print the finished tasks by stage, what is left and why, and the summary if there is one."""
    manifest = read_manifest(root)
    plan = manifest.plan()
    lines, left = _tasks(plan, manifest) if plan else (["the run has just started; its data are not stored yet"], 1)
    if not manifest.is_current:
        lines.append(
            f"It was written by an earlier version (format {manifest.format}); `pipeline resume {quoted(root)}` "
            f"computes all of it again, in format {FORMAT}."
        )
    if (held := root.holder()) is not None:
        lines.append(f"It is running: {held}.")
    if said := submitted(root):
        lines.append(f"It was submitted: {said}.")
    elif left and held is None:
        lines.append(f"`pipeline resume {quoted(root)}` continues the run; finished tasks are not repeated.")
    for number, line in enumerate(lines):
        name = f"[bold]{manifest.config.name}[/bold]: " if number == 0 else ""
        console.print(name + escape(line), highlight=False, soft_wrap=True)
    tables = manifest.finished.get(TABLES)
    if tables and not any(check_files(tables, {}, root)):
        print_summary(console, summarise(read_rows(root)))
        if (correlation := read_correlation(root)) is not None:
            print_correlation(console, correlation)
        console.print(f"The tables are in {escape(f'{root}/{RESULTS}')}.", highlight=False, soft_wrap=True)
    elif tables:
        repair = f"pipeline verify {quoted(root)} --repair"
        console.print(f"The tables are damaged: `{repair}` writes them again.", highlight=False, markup=False)


def _tasks(plan: Plan, manifest: Manifest) -> tuple[list[str], int]:
    """Describe what is done by stage and why the rest is not, and count what is left."""
    report = check(plan, manifest.finished, manifest.arrays(), full=False, any_version=not manifest.is_current)
    names = {task.name for task in plan.tasks}
    stuck = {name: why for dataset in plan.datasets for name, why in failures(dataset, report.valid).items()}
    failed = stuck | {
        name: entry.failures[0] for name, entry in report.valid.items() if entry.failures and name not in stuck
    }
    done = Counter(task.stage for task in plan.tasks if task.name in report.valid and task.name not in failed)
    totals = Counter(task.stage for task in plan.tasks)
    missing = names - report.valid.keys() - stuck.keys()
    left, outdated, superseded = len(missing), missing & set(report.outdated), missing & set(report.superseded)
    damaged = missing & {problem.entry for problem in report.problems}
    parts = ", ".join(f"{stage} {done[stage]:,} of {totals[stage]:,}" for stage in STAGES if totals[stage])
    lines = [f"{sum(done.values()):,} of {sum(totals.values()):,} tasks are done: {parts}."]
    if left:
        reasons = {
            "not run yet": left - len(damaged) - len(outdated) - len(superseded),
            "outdated by a change of config, data or algorithm": len(outdated),
            "computed from results that have changed since": len(superseded),
            "damaged": len(damaged),
        }
        lines.append(f"{left:,} are left: {', '.join(f'{n:,} {why}' for why, n in reasons.items() if n)}.")
    lines += [str(problem) for problem in report.problems[:MAX_NAMED]]
    if failed:
        lines.append(f"{len(failed):,} failed; `pipeline resume {quoted(manifest.root)} --retry-failed` retries them:")
        lines += [f"  {name}: {why}" for name, why in list(failed.items())[:MAX_NAMED]]
    return lines, left + len(report.problems)
