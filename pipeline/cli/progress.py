"""Show progress while tasks run: one bar per stage on a terminal, periodic lines elsewhere."""

import time
from collections import Counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from kernel_pipeline.cli.terminal import print_line
from kernel_pipeline.events import Event, RunningBatch, TaskFinished, TasksRunning, TasksStarted, TasksStopped
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.text import counted, format_seconds

LINE_INTERVAL_S = 10.0
RUNNING_LINE_INTERVAL_S = 60.0
"""Time without a line after which one is printed although no task has finished."""


class Progress:
    """A listener that counts finished tasks by stage, and shows the counts and the estimated remaining time."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._totals: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._begin = self._last_line = 0.0
        self._bars: RichProgress | None = None
        self._ids: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        """Update the counts and show them."""
        match event:
            case TasksStarted():
                self._start(event)
            case TaskFinished():
                self._advance(event.stage, event.remaining)
            case TasksRunning():
                self._show_running(event)
            case TasksStopped() if self._bars:
                self._bars.stop()
                self._bars = None

    def _start(self, event: TasksStarted) -> None:
        self._totals = {stage: event.totals[stage] for stage in STAGES if event.totals.get(stage)}
        self._counts = Counter(event.finished)
        self._begin = self._last_line = time.monotonic()
        if self._console.is_terminal:
            self._bars = RichProgress(
                TextColumn("{task.description:8}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.fields[remaining]}"),
                console=self._console,
            )
            self._ids = {
                stage: self._bars.add_task(stage, total=total, completed=self._counts[stage], remaining="")
                for stage, total in self._totals.items()
            }
            self._show_remaining(event.remaining)
            self._bars.start()

    def _show_remaining(self, remaining: float | None) -> None:
        """Show the remaining time of the run beside the bar of the last stage, which ends last."""
        if self._bars and self._ids:
            self._bars.update([*self._ids.values()][-1], remaining=_format_remaining(remaining))

    def _advance(self, stage: str, remaining: float | None) -> None:
        if stage not in self._totals:
            return
        self._counts[stage] += 1
        if self._bars:
            self._bars.advance(self._ids[stage])
            self._show_remaining(remaining)
        elif time.monotonic() - self._last_line >= LINE_INTERVAL_S:
            self._print_counts(_format_remaining(remaining))

    def _show_running(self, event: TasksRunning) -> None:
        """Show the remaining time, and in a line what has been running longest if no line was printed for a while."""
        self._show_remaining(event.remaining)
        if not self._bars and time.monotonic() - self._last_line >= RUNNING_LINE_INTERVAL_S:
            self._print_counts(*map(describe_batch, event.batches[:1]), _format_remaining(event.remaining))

    def _print_counts(self, *more: str) -> None:
        """Print a line with the numbers of finished tasks, and other texts unless they are empty."""
        self._last_line = time.monotonic()
        counts = ", ".join(f"{stage} {self._counts[stage]}/{total}" for stage, total in self._totals.items())
        line = "; ".join([counts, *filter(None, more)])
        print_line(self._console, f"{self._last_line - self._begin:.0f} s: {line}")


def describe_batch(batch: RunningBatch) -> str:
    """Describe tasks that are running together.

    >>> describe_batch(RunningBatch(("fits/a/0", "fits/a/1"), 75.0, "23 passes"))
    'fits/a/0 and 1 more task, for 75 s: 23 passes'
    """
    first, *others = batch.tasks
    more = f" and {counted(len(others), 'more task')}," if others else ""
    progress = f": {batch.progress}" if batch.progress else ""
    return f"{first}{more} for {format_seconds(batch.seconds)}{progress}"


def _format_remaining(remaining: float | None) -> str:
    """Return the remaining time as text; empty if it is not known, or if nothing remains."""
    return f"about {format_seconds(remaining)} left" if remaining else ""
