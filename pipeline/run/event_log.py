"""Write the events of a run to the log of the driver."""

import logging

from kernel_pipeline.events import ClusterOpened, Event, Notice, RunFinished, RunStarted, TaskFinished

log = logging.getLogger("kernel_pipeline")


def log_event(event: Event) -> None:
    """Write one line for an event; events that need no log line are ignored."""
    match event:
        case Notice(text):
            log.info("%s", text)
        case RunStarted():
            log.info("start: %d of %d tasks are pending", event.pending, event.total)
        case ClusterOpened():
            log.info("%d workers", event.workers)
        case TaskFinished():
            log.info("done %s in %.3f s %s", event.name, event.seconds, event.failed)
        case RunFinished():
            log.info("end after %.1f s", event.seconds)
