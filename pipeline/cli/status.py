"""How far a run is, read from its directory with no cluster."""

from collections import Counter

from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.run_view import MOST_NAMED
from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_correlation, read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.environment import FORMAT
from kernel_pipeline.run.manifest import Record, read_record
from kernel_pipeline.run.submission import submitted
from kernel_pipeline.run.verification import TABLES, check_files, examine
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import RESULTS
from kernel_pipeline.store.storage import Root


def print_status(console: Console, root: Root) -> None:
    """Print what is done by stage, what is left and why, and the summary if there is one."""
    record = read_record(root)
    plan = record.plan()
    lines, left = _tasks(plan, record) if plan else (["the run has just begun; its data are not stored yet"], 1)
    if not record.is_current:
        lines.append(
            f"It was written by an earlier version (format {record.format}); `pipeline resume {quoted(root)}` computes "
            f"all of it again, in format {FORMAT}."
        )
    if (held := root.holder()) is not None:
        lines.append(f"It is running: {held}.")
    if said := submitted(root):
        lines.append(f"It was handed to the queue: {said}.")
    elif left and held is None:
        lines.append(f"To go on: `pipeline resume {quoted(root)}`; what is done is not done twice.")
    for number, line in enumerate(lines):
        name = f"[bold]{record.config.name}[/bold]: " if number == 0 else ""
        console.print(name + escape(line), highlight=False, soft_wrap=True)
    tables = record.finished.get(TABLES)
    if tables and not any(check_files(tables, {}, root)):
        print_summary(console, summarise(read_rows(root)))
        if (correlation := read_correlation(root)) is not None:
            print_correlation(console, correlation)
        console.print(f"The tables are in {escape(f'{root}/{RESULTS}')}.", highlight=False, soft_wrap=True)
    elif tables:
        repair = f"pipeline verify {quoted(root)} --repair"
        console.print(f"The tables are damaged: `{repair}` writes them again.", highlight=False, markup=False)


def _tasks(plan: Plan, record: Record) -> tuple[list[str], int]:
    """What is done by stage, and why the rest is not; and how many things are left to do."""
    verdict = examine(plan, record.finished, record.arrays(), full=False, any_version=not record.is_current)
    names = {task.name for task in plan.tasks}
    stuck = {name: why for dataset in plan.datasets for name, why in failures(dataset, verdict.valid).items()}
    failed = stuck | {
        name: entry.failures[0] for name, entry in verdict.valid.items() if entry.failures and name not in stuck
    }
    done = Counter(task.stage for task in plan.tasks if task.name in verdict.valid and task.name not in failed)
    totals = Counter(task.stage for task in plan.tasks)
    missing = names - verdict.valid.keys() - stuck.keys()
    left, outdated, superseded = len(missing), missing & set(verdict.outdated), missing & set(verdict.superseded)
    damaged = missing & {problem.entry for problem in verdict.problems}
    parts = ", ".join(f"{stage} {done[stage]:,} of {totals[stage]:,}" for stage in STAGES if totals[stage])
    lines = [f"{sum(done.values()):,} of {sum(totals.values()):,} tasks are done: {parts}."]
    if left:
        reasons = {
            "not run yet": left - len(damaged) - len(outdated) - len(superseded),
            "outdated by a change of config, data or algorithm": len(outdated),
            "built on something that has since changed": len(superseded),
            "damaged": len(damaged),
        }
        lines.append(f"{left:,} are left: {', '.join(f'{n:,} {why}' for why, n in reasons.items() if n)}.")
    lines += [str(problem) for problem in verdict.problems[:MOST_NAMED]]
    if failed:
        lines.append(
            f"{len(failed):,} failed; `pipeline resume {quoted(record.root)} --retry-failed` tries them again:"
        )
        lines += [f"  {name}: {why}" for name, why in list(failed.items())[:MOST_NAMED]]
    return lines, left + len(verdict.problems)
