"""Where work runs: one module a backend, behind `open_cluster`."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from distributed import Client

    from kernel_pipeline.cluster.profile import Profile


PAUSED_AT = 0.8
"""The part of its memory at which a worker is paused, by Dask's own default."""


@dataclass(frozen=True)
class Cluster:
    """A scheduler that we are connected to; its workers may still be on their way."""

    client: "Client"
    workers: int
    """How many there will be, at most."""
    dashboard: str
    mend: Callable[[], object] = lambda: None
    """Asks for workers again that were lost for good."""
    waiting: Callable[[], str] | None = None
    """Says what keeps workers from coming, where that may take hours; None if they have to be there soon."""
    stays: bool = False
    """Whether its workers go on when we are done, so that they have to be left as they were."""


def warm_up(profile: "Profile", modules: tuple[str, ...]) -> None:
    """Begin to import these modules where workers will run, if that can be done ahead, and return at once."""
    backend = _backend(profile)
    if (refuse := getattr(backend, "check_system", None)) is not None:
        refuse(profile)
    if (ahead := getattr(backend, "warm_up", None)) is not None:
        ahead(modules)


def join(profile: "Profile") -> None:
    """Become what this process is to be; where many are started at once, only the driver returns."""
    become = getattr(_backend(profile), "join", None)
    if become is not None:
        become(profile)


def check_driver(profile: "Profile", logs: Path) -> None:
    """Refuse what a driver on this host could not do, before anything is written."""
    refuse = getattr(_backend(profile), "check_driver", None)
    if refuse is not None:
        refuse(profile, logs)


@contextmanager
def open_cluster(profile: "Profile", logs: Path) -> Iterator[Cluster]:
    """Start or find workers; those that were started are stopped, whatever happens, when the block ends."""
    from distributed.utils import silence_logging_cmgr

    # Dask tells a terminal of every connection that breaks, with tracebacks; the run says once what matters.
    with silence_logging_cmgr(logging.CRITICAL), _backend(profile).open_workers(profile, logs) as opened:
        yield opened


def worker_limits(profile: "Profile") -> tuple[int, int | None]:
    """How many workers there will be, and the bytes that each may use before Dask pauses it, if that is known."""
    count, memory = _backend(profile).worker_limits(profile)
    is_paused = memory is not None and profile.backend != "threads"
    return count, int(PAUSED_AT * memory) if is_paused else memory


def _backend(profile: "Profile") -> ModuleType:
    from kernel_pipeline.cluster.profile import QUEUES

    return import_module(
        "kernel_pipeline.cluster.jobqueue"
        if profile.backend in QUEUES
        else f"kernel_pipeline.cluster.{profile.backend}"
    )
