"""Show a run on a terminal: the pending tasks, progress, messages and results."""

from rich.console import Console
from rich.markup import escape

from kernel_pipeline.cli.progress import Progress
from kernel_pipeline.cli.summary_view import print_correlation, print_summary
from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.events import ClusterOpened, Event, Notice, ReusableRun, RunStarted
from kernel_pipeline.plan.notes import lines
from kernel_pipeline.results.stored_tables import read_comparison, read_correlation
from kernel_pipeline.run.sweeps import MAX_NAMED, Outcome
from kernel_pipeline.stages.single_kernels import SingleKernelsTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.paths import REPORT
from kernel_pipeline.store.reports import OK
from kernel_pipeline.text import counted, format_bytes


class RunView:
    """A listener that prints the events of a run.

    Parameters
    ----------
    console
        Console to print to; by default, the standard output.
    config
        Name or file of the config as the user gave it, for commands in messages.
    """

    def __init__(self, console: Console | None = None, config: str = "CONFIG") -> None:
        self._console = console or Console()
        self._config = config
        self._progress = Progress(self._console)

    def __call__(self, event: Event) -> None:
        """Print an event."""
        self._progress(event)
        match event:
            case Notice(text):
                print_line(self._console, text)
            case ClusterOpened():
                print_line(self._console, f"{counted(event.workers, 'worker')}; dashboard: {event.dashboard}")
            case RunStarted():
                self._print_start(event)
            case ReusableRun():
                self._print_reusable(event)

    def _print_reusable(self, found: ReusableRun) -> None:
        if found.additions:
            reason = f"this config only adds to the run in {found.location} ({'; '.join(found.additions)})"
        else:
            reason = (
                f"a new run starts, since this config differs from that of the run in {found.location} by more than "
                "additional methods and datasets"
            )
        print_line(
            self._console,
            f"note: {reason}. To reuse what is finished there: `pipeline run {self._config} --out "
            f"{quoted(found.location)} --accept-changes`",
        )

    def _print_start(self, event: RunStarted) -> None:
        self._console.print(
            f"[bold]{event.name}[/bold]: {counted(event.datasets, 'dataset')}, {counted(event.methods, 'method')}, "
            f"{event.trials} trials; {event.pending} of {event.total} tasks to do, "
            f"{format_bytes(event.disk_bytes)} of arrays in {escape(event.location)}",
            highlight=False,
            soft_wrap=True,
        )
        for line in event.notes:
            print_line(self._console, line)


def print_outcome(console: Console, outcome: Outcome) -> None:
    """Print the summary, the notes, the failed cells and the location of the tables."""
    root = outcome.root
    print_summary(console, outcome.tables.summary, read_comparison(root))
    if (correlation := read_correlation(root)) is not None:
        print_correlation(console, correlation)
    for line in lines(outcome.tables.notes):
        print_line(console, line)
    failed = outcome.tables.rows[outcome.tables.rows["status"] != OK]
    several = outcome.plan.config.protocol.repeats > 1
    for row in failed.itertuples():
        trial = f"repeat {row.repeat}, trial {row.trial}" if several else f"trial {row.trial}"
        console.print(
            f"[bold]{row.dataset}, {row.task}, {row.method}, {trial}[/bold] {escape(str(row.status))}",
            highlight=False,
        )
    for task in _failed_kernel_fits(outcome)[:MAX_NAMED]:
        console.print(f"[bold]{task.name}[/bold] {escape(outcome.failed[task.name].failed)}", highlight=False)
    here = quoted(root)
    retry = f" `pipeline resume {here} --retry-failed` retries failed tasks." if _is_retry_useful(outcome) else ""
    print_line(
        console,
        f"Done in {outcome.seconds:.1f} s. The report is {root}/{REPORT}, and the tables are in {root}/results: "
        "rows.csv (one row per dataset, task, method and trial), summary.md, comparison.md, weights.csv, path.csv, "
        "notes.csv and more.\n"
        f"See also: `pipeline status {here}`.{retry}",
    )


def _is_retry_useful(outcome: Outcome) -> bool:
    """Return whether a failed task may succeed if it is retried."""
    return any(report.may_succeed_later for report in outcome.failed.values())


def _failed_kernel_fits(outcome: Outcome) -> list[Task]:
    """Return the failed tasks that fit single kernels, which are not in the table of rows."""
    fits = [task for dataset in outcome.plan.datasets for task in dataset.tasks if isinstance(task, SingleKernelsTask)]
    return [task for task in fits if task.name in outcome.failed]
