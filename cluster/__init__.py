"""Start and connect workers: one module per backend, behind the functions of this module."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kernel_pipeline.cluster.backend import Cluster

if TYPE_CHECKING:
    from kernel_pipeline.cluster.profile import Profile

__all__ = [
    "PAUSED_AT",
    "Cluster",
    "assume_role",
    "check_driver",
    "is_local",
    "job_script",
    "open_cluster",
    "released",
    "warm_up",
    "worker_limits",
]

PAUSED_AT = 0.8
"""Fraction of its memory at which Dask pauses a worker by default."""


def assume_role(profile: "Profile") -> None:
    """Run the scheduler or a worker in this process, if all processes are started together; only the driver returns."""
    profile.implementation.assume_role()


def warm_up(profile: "Profile", modules: tuple[str, ...]) -> None:
    """Start importing modules where workers will run, if that is possible in advance, and return at once.

    Raises
    ------
    ClusterError
        If limits of this machine do not allow a run.
    """
    profile.implementation.check_system()
    profile.implementation.warm_up(modules)


def check_driver(profile: "Profile", logs: Path) -> None:
    """Check that a driver can run on this host, before anything is written.

    Raises
    ------
    ClusterError
        If it cannot; the message states the reason.
    """
    profile.implementation.check_driver(logs)


def worker_limits(profile: "Profile") -> tuple[int, int | None]:
    """Return the maximum number of workers and the bytes that each may use; None if not known.

    If Dask pauses workers that use most of their memory, the bytes are those at which it pauses them.
    """
    count, memory = profile.implementation.worker_limits()
    if memory is None or not profile.implementation.PAUSES_WORKERS:
        return count, memory
    return count, int(PAUSED_AT * memory)


def is_local(profile: "Profile") -> bool:
    """Return whether all workers run on this machine."""
    return profile.implementation.IS_LOCAL


@contextmanager
def open_cluster(profile: "Profile", logs: Path) -> Iterator[Cluster]:
    """Start or find workers; those that were started are stopped when the block ends, even after an error."""
    from distributed.utils import silence_logging_cmgr

    # Dask logs a traceback to the terminal for every lost connection; the run reports lost workers itself.
    with silence_logging_cmgr(logging.CRITICAL), profile.implementation.open_workers(logs) as opened:
        yield opened


@contextmanager
def released(profile: "Profile") -> Iterator[None]:
    """Release the resources that the functions of this module have opened, such as connections, after the block."""
    try:
        yield
    finally:
        profile.implementation.close()


def job_script(profile: "Profile", logs: Path) -> str | None:
    """Return the script of a job, or None if the workers do not run in jobs."""
    return profile.implementation.job_script(logs)
