"""What a person sees of a run before and after its tasks."""

from collections.abc import Sequence

import pandas as pd
from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.plan_view import print_notes
from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.plan.notes import Note, lines
from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.results.tables import read_correlation
from kernel_pipeline.run.verification import Verdict
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
    rows: pd.DataFrame,
    summary: pd.DataFrame,
    notes: Sequence[Note],
    failed_tasks: dict[str, Finished],
    seconds: float,
) -> None:
    """Show the summary, the notes, the cells that failed, and where everything is."""
    print_summary(console, summary)
    if (correlation := read_correlation(root)) is not None:
        print_correlation(console, correlation)
    for line in lines(notes):
        console.print(line, highlight=False, soft_wrap=True, markup=False)
    failed = rows[rows["status"] != OK]
    for row in failed.itertuples():
        console.print(
            f"[bold]{row.dataset}, {row.task}, {row.method}, trial {row.trial}[/bold] {escape(str(row.status))}",
            highlight=False,
        )
    alone = {name: entry for name, entry in failed_tasks.items() if "/each-kernel/" in name}
    for name, entry in list(alone.items())[:MOST_NAMED]:
        console.print(f"[bold]{name}[/bold] {escape(entry.failed)}", highlight=False)
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
