"""Follow a run until it ends: show its state on a terminal, or write its report, at regular intervals."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from io import StringIO

from rich.console import Console
from rich.live import Live
from rich.text import Text

from kernel_pipeline.cli.progress import RUNNING_LINE_INTERVAL_S
from kernel_pipeline.cli.status import print_status
from kernel_pipeline.cli.summary_view import print_summary
from kernel_pipeline.cli.terminal import PlainConsole, print_line
from kernel_pipeline.errors import PipelineError
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.directory import is_run_directory
from kernel_pipeline.run.finished_tables import read_finished_rows
from kernel_pipeline.run.manifest import no_run_directory, read_manifest
from kernel_pipeline.run.report import REFRESH_S, WrittenReport, write_report
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import counted

STATUS_INTERVAL_S = 2.0
START_TIMEOUT_S = 10.0
"""Time to wait for a run directory, which a run creates some seconds after its start."""
POLL_INTERVAL_S = 0.2
RATE_WINDOW_S = 60.0
"""Time span over which rates are averaged."""


class TaskRates:
    """Count the tasks that finish per minute, by stage."""

    def __init__(self) -> None:
        self._counts: list[tuple[float, Counter[str]]] = []

    def update(self, now: float, finished: Counter[str]) -> str:
        """Return the rates as text, given how many tasks of each stage are finished; empty at first.

        >>> rates = TaskRates()
        >>> rates.update(0.0, Counter(fits=3))
        ''
        >>> rates.update(30.0, Counter(fits=8))
        'fits 10.0 per minute'
        """
        self._counts = [(then, counts) for then, counts in self._counts if now - then <= RATE_WINDOW_S]
        self._counts.append((now, finished))
        then, before = self._counts[0]
        if now == then:
            return ""
        rates = {stage: 60.0 * (finished[stage] - before[stage]) / (now - then) for stage in STAGES}
        return ", ".join(f"{stage} {rate:.1f} per minute" for stage, rate in rates.items() if rate > 0)


def wait_for_run(console: Console, root: Storage) -> None:
    """Wait until a directory is that of a run.

    Raises
    ------
    RefusedError
        If it is not after `START_TIMEOUT_S`.
    """
    begin = time.monotonic()
    if not is_run_directory(root):
        print_line(console, f"Waiting for a run in {root}.")
    while not is_run_directory(root):
        if time.monotonic() - begin > START_TIMEOUT_S:
            raise no_run_directory(root)
        time.sleep(POLL_INTERVAL_S)


def watch_status(console: Console, root: Storage, interval: float = STATUS_INTERVAL_S) -> None:
    """Show the state, the rates and the results so far, until no process executes the run.

    On a terminal, the screen is updated in place; elsewhere, the state is printed whenever it has changed, and every
    `RUNNING_LINE_INTERVAL_S` for the progress of the tasks that are running.
    """
    rates = TaskRates()
    if not console.is_terminal:
        shown, printed = "", time.monotonic()
        for _ in _while_running(root, interval):
            state = _rendered(console, lambda target: print_status(target, root, with_running=False))
            if state != shown or time.monotonic() - printed >= RUNNING_LINE_INTERVAL_S:
                full = _rendered(console, lambda target: print_status(target, root))
                console.print(full, highlight=False, markup=False, soft_wrap=True)
                printed = time.monotonic()
            shown = state
    else:
        with Live(console=console, auto_refresh=False, transient=True, vertical_overflow="visible") as live:
            for _ in _while_running(root, interval):
                state = _rendered(console, lambda target: _print_state(target, root, rates))
                live.update(Text.from_ansi(state), refresh=True)
    print_status(console, root)


def watch_report(console: Console, root: Storage, interval: float = float(REFRESH_S)) -> WrittenReport:
    """Write the report at regular intervals until no process executes the run; an open page reloads itself."""
    is_first = True
    for _ in _while_running(root, interval):
        write_report(root, is_watched=True)
        if is_first:
            print_line(console, f"The report is written every {interval:g} s until the run ends, or until Ctrl-C.")
        is_first = False
    return write_report(root)


def _while_running(root: Storage, interval: float) -> Iterator[None]:
    """Yield once per interval as long as a process executes the run, or until Ctrl-C."""
    with suppress(KeyboardInterrupt):
        while root.holder() is not None:
            yield
            time.sleep(interval)


def _print_state(console: Console, root: Storage, rates: TaskRates) -> None:
    """Print the state of a run, the rates of its stages, and the means over the trials that are finished."""
    print_status(console, root)
    manifest = read_manifest(root)
    if (plan := manifest.plan()) is None:
        return
    reports = manifest.finished.tasks
    finished = Counter(task.stage for task in plan.tasks if task.name in reports)
    if rate := rates.update(time.monotonic(), finished):
        print_line(console, f"Tasks finished: {rate}.")
    with suppress(PipelineError):  # the run may be changing the files that are read
        found = read_finished_rows(root)
        if len(found.rows):
            print_line(console, f"\nResults so far ({counted(found.pending, 'cell has', 'cells have')} none yet):")
            print_summary(console, summarise(found.rows), None)


def _rendered(console: Console, show: Callable[[Console], None]) -> str:
    """Return what a function prints, as text for the given console."""
    text = StringIO()
    target = PlainConsole(file=text, force_terminal=console.is_terminal, width=console.width)
    with suppress(PipelineError):  # such as a ledger that is being written
        show(target)
    return text.getvalue().rstrip("\n")
