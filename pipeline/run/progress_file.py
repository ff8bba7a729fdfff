"""Write `progress.json`, the state of a run for scripts, and read it."""

import json
import time
from collections import Counter
from contextlib import suppress

from kernel_pipeline.errors import PipelineError
from kernel_pipeline.events import ClusterOpened, Event, TaskFinished, TasksStarted, TasksStopped
from kernel_pipeline.stages.task import STAGES
from kernel_pipeline.store.json_object import JsonObject
from kernel_pipeline.store.json_text import parse_json
from kernel_pipeline.store.paths import PROGRESS
from kernel_pipeline.store.storage import Storage

WRITE_INTERVAL_S = 10.0


class ProgressFile:
    """A listener that replaces `progress.json` at most every ten seconds, and when the tasks start and stop.

    The file is not part of the results: an error while it is written does not stop the run, and it is not verified.
    """

    def __init__(self, root: Storage) -> None:
        self._root = root
        self._totals: dict[str, int] = {}
        self._counts: Counter[str] = Counter()
        self._workers: int | None = None
        self._remaining: float | None = None
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
                if time.monotonic() - self._last >= WRITE_INTERVAL_S:
                    self._write()
            case TasksStopped():
                self._write()

    def _write(self) -> None:
        self._last = time.monotonic()
        content = {
            "stages": {stage: {"done": self._counts[stage], "total": total} for stage, total in self._totals.items()},
            "workers": self._workers,
            "seconds_elapsed": round(self._last - self._begin, 1),
            "seconds_remaining": None if self._remaining is None else round(self._remaining, 1),
        }
        with suppress(OSError, PipelineError):  # such as a full disk, which the driver handles where it matters
            self._root.write(PROGRESS, json.dumps(content, indent=2) + "\n", sync=False)


def last_workers(root: Storage) -> int | None:
    """Return the number of workers of the last execution of a run; None if it is not known."""
    with suppress(OSError, PipelineError, ValueError):
        return JsonObject(parse_json(root.read(PROGRESS)), PROGRESS).integer("workers")
    return None
