"""Show the state of a run, read from its directory without a cluster."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.progress import describe_batch
from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.events import RunningBatch
from kernel_pipeline.plan.estimates import RemainingTime, TaskTime, stage_seconds, task_times
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_comparison, read_correlation, read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.progress_file import last_workers, running_batches
from kernel_pipeline.run.submission import submitted_job
from kernel_pipeline.run.sweeps import MAX_NAMED
from kernel_pipeline.run.verification import check, check_files
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import counted, format_seconds

MIN_SHOWN_S = 10.0
"""Shorter times are not shown, since they are mostly overhead."""


def print_status(console: Console, root: Storage, with_running: bool = True) -> None:
    """Print the finished tasks by stage, the remaining tasks with reasons, and the summary if there is one.

    Parameters
    ----------
    with_running
        Whether to print the remaining time and the tasks that are running, which change all the time.
    """
    # Before the ledger is read, since the run may end while its files are looked at.
    held = root.holder() if is_run_directory(root) else None
    manifest = read_manifest(root)
    plan = manifest.plan()
    lines, left = ["the data of the run are not stored yet"], 1
    if plan:
        lines, left = _tasks(plan, manifest, held is not None, with_running)
    if not manifest.is_current:
        lines.append(
            f"The run was written by an earlier version (format {manifest.format}); `pipeline resume {quoted(root)}` "
            f"computes all of it again, in format {FORMAT}."
        )
    if plan and not left and held is None and (line := _compared_times(plan, manifest)):
        lines.append(line)
    if held is not None:
        lines.append(f"The run is being executed by {held}.")
    if submission := submitted_job(root):
        lines.append(f"The run was submitted: {submission}.")
    elif left and held is None:
        lines.append(f"`pipeline resume {quoted(root)}` resumes the run; finished tasks are not repeated.")
    for number, line in enumerate(lines):
        name = f"[bold]{manifest.config.name}[/bold]: " if number == 0 else ""
        console.print(name + escape(line), highlight=False, soft_wrap=True)
    tables = manifest.finished.tables
    if tables and not any(check_files(tables, root)):
        print_summary(console, summarise(read_rows(root)), read_comparison(root))
        if (correlation := read_correlation(root)) is not None:
            print_correlation(console, correlation)
        console.print(f"The tables are in {escape(f'{root}/{RESULTS}')}.", highlight=False, soft_wrap=True)
    elif tables:
        repair = f"pipeline verify {quoted(root)} --repair"
        console.print(f"The tables are damaged: `{repair}` writes them again.", highlight=False, markup=False)


def _tasks(plan: Plan, manifest: Manifest, is_running: bool, with_running: bool) -> tuple[list[str], int]:
    """Return lines on finished, pending and failed tasks, and the number of pending tasks and damaged files."""
    any_version = not manifest.is_current
    report = check(
        plan, manifest.finished, manifest.arrays(), full=False, any_version=any_version, is_running=is_running
    )
    reports, names = report.valid.tasks, {task.name for task in plan.tasks}
    blocked = {name: why for dataset in plan.datasets for name, why in failures(dataset, reports).items()}
    failed = blocked | {
        name: found.failures[0] for name, found in reports.items() if found.failures and name not in blocked
    }
    done = Counter(task.stage for task in plan.tasks if task.name in reports and task.name not in failed)
    totals = Counter(task.stage for task in plan.tasks)
    missing = names - reports.keys() - blocked.keys()
    left, outdated, superseded = len(missing), missing & set(report.outdated), missing & set(report.superseded)
    damaged = missing & {finding.entry for finding in report.findings}
    removed = missing & set(report.removed)
    parts = ", ".join(f"{stage} {done[stage]:,} of {totals[stage]:,}" for stage in STAGES if totals[stage])
    lines = [f"{sum(done.values()):,} of {sum(totals.values()):,} tasks are done: {parts}."]
    if left:
        reasons = {
            "not run yet": left - len(damaged) - len(outdated) - len(superseded) - len(removed),
            "outdated by a change of config, data or algorithm": len(outdated),
            "computed from results that have changed since": len(superseded),
            "whose files were removed and are needed again": len(removed),
            "damaged": len(damaged),
        }
        lines.append(
            f"{counted(left, 'is', 'are')} left: {', '.join(f'{n:,} {why}' for why, n in reasons.items() if n)}."
        )
        if with_running:
            pending = {task.name for task in plan.known_tasks(reports)} - reports.keys() - blocked.keys()
            found = running_batches(manifest.root) if is_running else []
            running = [batch for batch in found if pending.issuperset(batch.tasks)]
            lines += _running(RemainingTime.of(plan, reports, pending), running, manifest.root)
    lines += [str(finding) for finding in report.findings[:MAX_NAMED]]
    if failed:
        them = "it" if len(failed) == 1 else "them"
        retry = f"; `pipeline resume {quoted(manifest.root)} --retry-failed` retries {them}"
        is_useful = any(found.may_succeed_later for found in reports.values())
        lines.append(f"{len(failed):,} failed{retry if is_useful else ' because of the data or the config'}:")
        lines += [f"  {name}: {why}" for name, why in list(failed.items())[:MAX_NAMED]]
    return lines, left + len(report.findings)


def _running(remaining: RemainingTime, running: Sequence[RunningBatch], root: Storage) -> list[str]:
    """Return lines on the remaining time and on the tasks that are running."""
    workers = last_workers(root) or 1
    remaining.set_running(running)
    seconds, lines = remaining.seconds(workers), []
    if seconds is not None and seconds >= MIN_SHOWN_S:
        lines.append(f"The remaining time is about {format_seconds(seconds)} with {counted(workers, 'worker')}.")
    if running:
        count = sum(len(batch.tasks) for batch in running)
        lines.append(f"{counted(count, 'task is', 'tasks are')} running:")
        lines += [f"  {describe_batch(batch)}" for batch in running[:MAX_NAMED]]
    return lines


def _compared_times(plan: Plan, manifest: Manifest) -> str:
    """Return the estimated time for this machine and the measured time of all tasks; empty for a short run."""
    reports = manifest.finished.tasks
    took = {task.name: reports[task.name].seconds for task in plan.known_tasks(reports) if task.name in reports}
    if sum(took.values()) < MIN_SHOWN_S:
        return ""
    from kernel_pipeline.plan.calibration import measure_rates

    times = {name: time for name, time in task_times(plan, measure_rates(), reports).items() if name in took}
    estimated = stage_seconds(times.values(), workers=1)
    workers = last_workers(manifest.root) or 1
    measured = stage_seconds(
        (TaskTime(time.stage, took[name] * (workers if time.spreads else 1)) for name, time in times.items()), workers=1
    )
    listed = (f"{stage} {format_seconds(estimated[stage])}, {format_seconds(measured[stage])}" for stage in estimated)
    return (
        f"Estimated time with one worker as fast as this machine: {format_seconds(sum(estimated.values()))}; measured "
        f"time: {format_seconds(sum(measured.values()))} (estimated and measured by stage: {'; '.join(listed)})."
    )
