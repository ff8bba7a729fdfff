"""The log of the driver, and where all logs of a run end up."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from pipeline.root import Root

log = logging.getLogger("pipeline")


@contextmanager
def driver_log(root: Root) -> Iterator[None]:
    """Log to the folder of a run's logs, which are brought to their place at the end, however it ends."""
    logging.raiseExceptions = False  # a full disk is said once, by the run itself
    root.log_folder.mkdir(parents=True, exist_ok=True)
    handler = logging.FileHandler(root.log_folder / "driver.log")
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    log.addHandler(handler)
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.removeHandler(handler)
        handler.close()
        root.keep_logs()
