"""Show progress while tasks run: one bar per stage on a terminal, a line from time to time elsewhere."""

import time
from collections import Counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from kernel_pipeline.events import Event, TaskFinished, TasksStarted, TasksStopped
from kernel_pipeline.stages.task import STAGES

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """A listener that counts finished tasks by stage and shows the counts."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._totals: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._begin = self._last_line = 0.0
        self._bars: RichProgress | None = None
        self._ids: dict[str, TaskID] = {}

    def __call__(self, event: Event) -> None:
        """Update what is shown."""
        match event:
            case TasksStarted():
                self._start(event)
            case TaskFinished():
                self._advance(event.stage)
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
                console=self._console,
            )
            self._ids = {
                stage: self._bars.add_task(stage, total=total, completed=self._counts[stage])
                for stage, total in self._totals.items()
            }
            self._bars.start()

    def _advance(self, stage: str) -> None:
        if stage not in self._totals:
            return
        self._counts[stage] += 1
        if self._bars:
            self._bars.advance(self._ids[stage])
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            counts = ", ".join(f"{stage} {self._counts[stage]}/{total}" for stage, total in self._totals.items())
            self._console.print(f"{self._last_line - self._begin:.0f} s: {counts}")
