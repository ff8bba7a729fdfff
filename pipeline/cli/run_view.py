"""What a person sees of a run before and after its tasks."""

from collections.abc import Mapping

from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.plan_view import print_notes
from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.stored_tables import read_correlation
from kernel_pipeline.run.tables import RunTables
from kernel_pipeline.run.verification import Verdict
from kernel_pipeline.stages.one_stage import EachKernelTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.reports import OK, Finished
from kernel_pipeline.store.storage import Root
from kernel_pipeline.text import format_bytes

# So many of a kind are named; there may be very many.
MOST_NAMED = 10


def announce(console: Console, plan: Plan, arrays: Root, left: int, verdict: Verdict) -> None:
    """Say what is about to run, and why it is more than nothing in a directory that was complete."""
    config = plan.config
    console.print(
        f"[bold]{config.name}[/bold]: {len(plan.datasets)} dataset(s), {len(config.methods)} method(s), "
        f"{config.protocol.folds} trials; {left} of {len(plan.tasks)} tasks to do, "
        f"{format_bytes(plan.disk_bytes)} of arrays in {escape(str(arrays))}",
        highlight=False,
        soft_wrap=True,
    )
    print_notes(console, plan)
    for problem in verdict.problems[:MOST_NAMED]:
        console.print(f"{problem}; it is computed again", highlight=False, soft_wrap=True, markup=False)
    if len(verdict.problems) > MOST_NAMED:
        console.print(f"... and {len(verdict.problems) - MOST_NAMED:,} more pieces", highlight=False)
    if verdict.superseded:
        console.print(
            f"{len(verdict.superseded):,} finished tasks were built on something that has since changed, and are done "
            "again",
            highlight=False,
            soft_wrap=True,
        )
    if verdict.outdated:
        console.print(f"{len(verdict.outdated):,} finished tasks are outdated and done again", highlight=False)


def print_results(
    console: Console,
    root: Root,
    plan: Plan,
    tables: RunTables,
    failed_tasks: dict[str, Finished],
    seconds: float,
) -> None:
    """Show the summary, the notes, the cells that failed, and where everything is."""
    print_summary(console, tables.summary)
    if (correlation := read_correlation(root)) is not None:
        print_correlation(console, correlation)
    for line in lines(tables.notes):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    failed = tables.rows[tables.rows["status"] != OK]
    for row in failed.itertuples():
        console.print(
            f"[bold]{row.dataset}, {row.task}, {row.method}, trial {row.trial}[/bold] {escape(str(row.status))}",
            highlight=False,
        )
    for task in _failed_kernel_fits(plan, failed_tasks)[:MOST_NAMED]:
        console.print(f"[bold]{task.name}[/bold] {escape(failed_tasks[task.name].failed)}", highlight=False)
    where = escape(str(root))
    here = escape(quoted(root))
    again = f" `pipeline resume {here} --retry-failed` tries what failed again." if failed_tasks else ""
    console.print(
        f"Done in {seconds:.1f} s. The tables are in {where}/results: "
        "rows.csv (one row per trial), summary.md, summary.tex, path.csv, kernels.csv, notes.csv and more.\n"
        f"Look further: `pipeline status {here}`.{again}",
        highlight=False,
        soft_wrap=True,
    )


def _failed_kernel_fits(plan: Plan, failed: Mapping[str, Finished]) -> list[Task]:
    """Return the failed tasks that fit single kernels, which have no row of their own."""
    return [task for dataset in plan.datasets for task in dataset.of(EachKernelTask) if task.name in failed]
