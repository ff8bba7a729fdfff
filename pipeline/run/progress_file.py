"""Write `progress.json`, the state of a run for scripts, and read it."""

import json
import time
from collections import Counter
from contextlib import suppress
from dataclasses import replace

from kernel_pipeline.errors import PipelineError
from kernel_pipeline.events import (
    MAX_RUNNING_S,
    ClusterOpened,
    Event,
    RunningBatch,
    TaskFinished,
    TasksRunning,
    TasksStarted,
    TasksStopped,
)
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.paths import PROGRESS
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.text import short_line

WRITE_INTERVAL_S = 10.0
MAX_AGE_S = 60.0
"""Age at which the running tasks in the file are ignored: the run that wrote it has ended without changing it."""


class ProgressFile:
    """A listener that replaces `progress.json` about every ten seconds, and when the tasks start and stop.

    The file is not part of the results: an error while it is written does not stop the run, and it is not verified.
    """

    def __init__(self, root: Storage) -> None:
        self._root = root
        self._totals: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._workers: int | None = None
        self._remaining: float | None = None
        self._running: tuple[RunningBatch, ...] = ()
        self._running_since = 0.0
        """When the running batches were last reported."""
        self._begin = self._last = 0.0

    def __call__(self, event: Event) -> None:
        """Count finished tasks, and write the file if it is due."""
        match event:
            case TasksStarted():
                self._totals = {stage: event.totals[stage] for stage in STAGES if event.totals.get(stage)}
                self._counts, self._remaining = Counter(event.finished), event.remaining
                self._begin = time.monotonic()
                self._write()
            case ClusterOpened():
                self._workers = event.workers
            case TaskFinished():
                self._counts[event.stage] += 1
                self._remaining = event.remaining
                self._running = tuple(batch for batch in self._running if event.name not in batch.tasks)
                if time.monotonic() - self._last >= WRITE_INTERVAL_S:
                    self._write()
            case TasksRunning():
                self._running, self._remaining = event.batches, event.remaining
                self._running_since = time.monotonic()
                self._write()
            case TasksStopped():
                self._running = ()
                self._write()

    def _write(self) -> None:
        self._last = time.monotonic()
        content = {
            "stages": {stage: {"done": self._counts[stage], "total": total} for stage, total in self._totals.items()},
            "workers": self._workers,
            "seconds_elapsed": round(self._last - self._begin, 1),
            "seconds_remaining": None if self._remaining is None else round(self._remaining, 1),
            "running": [
                {
                    "tasks": list(batch.tasks),
                    "seconds": round(batch.seconds + self._last - self._running_since, 1),
                    "progress": batch.progress,
                }
                for batch in self._running
            ],
            "written": round(time.time(), 1),
        }
        with suppress(OSError, PipelineError):  # such as a full disk, which the driver handles where it matters
            self._root.write(PROGRESS, json.dumps(content, indent=2) + "\n", sync=False)


def last_workers(root: Storage) -> int | None:
    """Return the number of workers of the last execution of a run; None if it is not known."""
    with suppress(OSError, PipelineError, ValueError):
        return _read(root).integer("workers")
    return None


def running_batches(root: Storage) -> list[RunningBatch]:
    """Return what the workers of a run are running, with the times until now; empty if that is not known.

    The file is not trusted: names of tasks must be compared with the plan, and text is limited to one printable line.
    """
    with suppress(OSError, PipelineError, ValueError):
        found = _read(root)
        age = time.time() - found.number("written")
        if abs(age) <= MAX_AGE_S:
            batches = (_batch(JsonObject(item, "'running'")) for item in found.items("running"))
            return [replace(batch, seconds=batch.seconds + max(0.0, age)) for batch in batches]
    return []


def _batch(found: JsonObject) -> RunningBatch:
    seconds, tasks = found.number("seconds"), found.texts("tasks")
    if not 0 <= seconds <= MAX_RUNNING_S or not tasks:
        raise ValueError("'running' has a batch without a task, or with an impossible time")
    return RunningBatch(tuple(tasks), seconds, short_line(found.text("progress")))


def _read(root: Storage) -> JsonObject:
    return JsonObject(parse_json(root.read(PROGRESS)), PROGRESS)
