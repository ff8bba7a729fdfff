"""What runs on a worker: one task, timed and measured."""

import logging
import time

from pipeline.memory import measured_peak
from pipeline.store import RunStore
from pipeline.task import Finished, Task

log = logging.getLogger(__name__)
log.setLevel(logging.INFO)


def run_task(task: Task, store: RunStore) -> Finished:
    """Run a task and report what it left."""
    log.info("start %s", task.name)
    begin = time.perf_counter()
    with measured_peak() as peak:
        output = task.run(store)
    seconds = time.perf_counter() - begin
    log.info("done %s in %.3f s", task.name, seconds)
    return Finished(
        name=task.name,
        identity=task.identity,
        digests=output.digests,
        result=output.result,
        seconds=round(seconds, 6),
        peak_memory=peak[0],
    )
