"""Follow the tasks that are running: workers note what they run, and the driver asks for it from time to time.

Workers send nothing on their own, so that short tasks cause no messages. What they answer is checked: the driver uses
only the names of tasks that it has sent, and bounds the length of texts.
"""

import logging
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from distributed import Client

from kernel_pipeline.events import MAX_RUNNING_S, RunningBatch, TasksRunning
from kernel_pipeline.plan.estimates import RemainingTime
from kernel_pipeline.run.background_calls import BackgroundCall
from kernel_pipeline.run.schedule import TaskBatch
from kernel_pipeline.tasks.progress import progress_listener
from kernel_pipeline.text import short_line

log = logging.getLogger("kernel_pipeline")

ASK_INTERVAL_S = 10.0
"""Time between two questions to the workers, and between two reports."""

Answer = dict[str, tuple[float, str]]
"""For each batch that a worker is running, by the name of its first task: its seconds, and its progress."""


@dataclass
class _Noted:
    """What a worker knows about a batch that it is running."""

    begin: float = field(default_factory=time.monotonic)
    progress: str = ""


_noted: dict[tuple[str, str], _Noted] = {}
"""The batches that this process is running as a worker, by the id of the execution and the name of the first task."""


@contextmanager
def noted_as_running(execution: str, name: str) -> Iterator[None]:
    """Note on a worker that a batch is running, and what its computation says about its progress."""
    noted = _noted[execution, name] = _Noted()

    def note(text: str) -> None:
        noted.progress = text

    try:
        with progress_listener(note):
            yield
    finally:
        if _noted.get((execution, name)) is noted:  # not if the same batch was started again in the meantime
            del _noted[execution, name]


def running_here(execution: str) -> Answer:
    """Return the batches of an execution that this worker is running; called in its event loop."""
    now = time.monotonic()
    running = _noted.copy().items()  # a copy, since threads that run tasks change it
    return {name: (now - noted.begin, noted.progress) for (other, name), noted in running if other == execution}


class RunningTasks:
    """The batches that the workers are running, as the driver knows them.

    Parameters
    ----------
    execution
        Id of the execution whose tasks are followed; several may use the same workers.
    report
        Receives the running batches about every `ASK_INTERVAL_S`, those that have run longest first.
    """

    def __init__(
        self, client: Client, execution: str, report: Callable[[tuple[RunningBatch, ...]], None] | None
    ) -> None:
        self._report = report
        self._ask: BackgroundCall[object] = BackgroundCall(
            partial(client.run, running_here, execution, on_error="ignore")
        )
        self._last = time.monotonic()
        self._known: dict[str, tuple[float, str]] = {}
        """The time at which each batch was started, and its progress."""

    def update(self, sent: Collection[TaskBatch]) -> None:
        """Ask the workers if it is time to do so, and report what they answered; this never waits.

        Parameters
        ----------
        sent
            The batches whose reports are expected.
        """
        now = time.monotonic()
        if self._report is None or not sent or now - self._last < ASK_INTERVAL_S:
            return
        try:
            answers = self._ask.result(timeout=0.0)
        except Exception as error:  # the run itself finds out whether the scheduler is lost
            log.warning("the workers cannot be asked what they run: %s: %s", type(error).__name__, error)
            answers = {}
        if answers is not None:
            self._known = {name: (now - seconds, text) for name, (seconds, text) in checked_answers(answers).items()}
        elif self._ask.pending_seconds < ASK_INTERVAL_S:
            return  # a worker that does not answer delays the others, whose tasks are then reported as last known
        self._last = now
        found = []
        for batch in sent:
            if (known := self._known.get(batch[0].name)) is not None:
                found.append(RunningBatch(tuple(task.name for task in batch), now - known[0], known[1]))
        self._report(tuple(sorted(found, key=lambda batch: -batch.seconds)))


def checked_answers(answers: object) -> Answer:
    """Return what the workers run, given their answers by address; whatever has another form is left out.

    >>> checked_answers({"tcp://a": {"fits/a/0": (12.5, "3 passes"), "fits/a/1": "no"}, "tcp://b": None})
    {'fits/a/0': (12.5, '3 passes')}
    """
    found: Answer = {}
    for answer in answers.values() if isinstance(answers, dict) else ():
        for name, value in answer.items() if isinstance(answer, dict) else ():
            match value:
                case (int() | float() as seconds, str(text)) if isinstance(name, str) and 0 <= seconds <= MAX_RUNNING_S:
                    # If two workers run the same batch, the earlier one has been given up.
                    if name not in found or seconds < found[name][0]:
                        found[name] = float(seconds), short_line(text)
    return found


def tasks_running(batches: tuple[RunningBatch, ...], remaining: RemainingTime, workers: int) -> TasksRunning:
    """Return the event for the running batches, after subtracting their times from the remaining time of the run."""
    remaining.set_running(batches)
    return TasksRunning(batches, remaining.seconds(workers))
