"""What a person sees while a sweep runs: a bar a stage on a terminal, a line now and then elsewhere."""

import time
from collections import Counter
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.progress import Progress as RichProgress

from kernel_pipeline.plan.plan import Plan
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.reports import Finished

SECONDS_BETWEEN_LINES = 10.0


class Progress:
    """Counts finished tasks by stage and shows them."""

    def __init__(self, console: Console, plan: Plan) -> None:
        self._console = console
        self._stages = {task.name: task.stage for task in plan.tasks}
        totals = Counter(self._stages.values())
        self._totals = {stage: totals[stage] for stage in STAGES if totals[stage]}
        self._counts: Counter[str] = Counter()
        self._begin = self._last_line = time.monotonic()
        self._bars: RichProgress | None = None
        self._ids: dict[str, TaskID] = {}
        if console.is_terminal:
            self._bars = RichProgress(
                TextColumn("{task.description:8}"),
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                console=console,
            )
            self._ids = {stage: self._bars.add_task(stage, total=total) for stage, total in self._totals.items()}

    def __enter__(self) -> Self:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bars:
            self._bars.stop()

    def advance(self, entry: Finished) -> None:
        """One more task is finished; other entries of the ledger do not count."""
        stage = self._stages.get(entry.name)
        if stage is None:
            return
        self._counts[stage] += 1
        if self._bars:
            self._bars.advance(self._ids[stage])
        elif time.monotonic() - self._last_line >= SECONDS_BETWEEN_LINES:
            self._last_line = time.monotonic()
            counts = ", ".join(f"{stage} {self._counts[stage]}/{total}" for stage, total in self._totals.items())
            self._console.print(f"{self._last_line - self._begin:.0f} s: {counts}")
