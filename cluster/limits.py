"""Check the system limits on threads, processes and address space before a run, and name them in errors.

When such a limit is exceeded, libraries fail in different ways: some raise an exception, some abort the process, and
some wait forever for a thread that could not start.
"""

import errno
import os
import resource
from pathlib import Path

from kernel_pipeline.cluster.errors import LimitError

# Measured numbers of threads, rounded up. Those of the driver include the process from which workers are forked.
DRIVER_THREADS = 24
THREADS_PER_WORKER = 12
MIN_ADDRESS_SPACE = 3 << 30
"""Address space that the driver needs in bytes; its libraries reserve much more than they use."""
LARGE_LIMIT = 2000
"""Limits on threads above this number are not reported, since only runs with more than 160 workers can exceed them."""
THREAD_ERRORS = ("can't start new thread", "cannot join thread before it is started")
CGROUP = Path("/sys/fs/cgroup")


def check_limits(workers: int) -> None:
    """Check that the limits of this process allow a number of workers.

    Raises
    ------
    LimitError
        If one of them does not.
    """
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < MIN_ADDRESS_SPACE:
        raise LimitError(
            f"the address space of a process is limited to {space >> 20} MiB (`ulimit -v`), and a run needs "
            f"{MIN_ADDRESS_SPACE >> 20} MiB: libraries reserve much more than they use. Raise the limit (`ulimit -v "
            "unlimited`), or ask the administrator to raise it"
        )
    needed = DRIVER_THREADS + THREADS_PER_WORKER * workers
    for free, name in (_free_processes(), _free_in_cgroup()):
        if free is not None and free < needed:
            raise LimitError(
                f"{workers} worker(s) need about {needed} threads and processes, and {name} leaves {max(0, free)}. Use "
                "fewer workers (--workers 1), end other processes, or raise the limit"
            )


def suspected_limits(error: BaseException) -> str:
    """Return the limits that may have caused an error about threads, processes or memory; empty for other errors.

    The whole chain of causes is searched for such errors.
    """
    seen: BaseException | None = error
    for _ in range(10):  # Dask wraps errors in others
        if seen is None:
            return ""
        is_limit = isinstance(seen, MemoryError) or (
            isinstance(seen, OSError) and seen.errno in (errno.EAGAIN, errno.ENOMEM)
        )
        if is_limit or (isinstance(seen, RuntimeError) and any(text in str(seen) for text in THREAD_ERRORS)):
            return ", ".join(tight_limits()) or "those of this machine on memory and on the number of processes"
        seen = seen.__cause__ or seen.__context__
    return ""


def tight_limits() -> list[str]:
    """Return descriptions of the limits of this process that a run may exceed, with the commands that set them."""
    found = []
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY:
        found.append(f"{space >> 20} MiB of address space (`ulimit -v`)")
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and processes < LARGE_LIMIT and os.geteuid() != 0:
        found.append(f"{processes} processes and threads per user (`ulimit -u`)")
    if (limit := _cgroup("max")) is not None and limit < LARGE_LIMIT:
        found.append(f"{limit} processes and threads of a cgroup (`pids.max`)")
    return found


def _free_processes() -> tuple[int | None, str]:
    """Return how many more threads this user may start, and a description of the limit."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    name = f"the limit of {limit} processes and threads per user (`ulimit -u`)"
    if limit == resource.RLIM_INFINITY or os.geteuid() == 0:  # root is exempt
        return None, name
    used = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # the process has ended
            continue
        if int(fields["Uid"].split()[0]) == os.getuid():
            used += int(fields["Threads"])
    return limit - used, name


def _free_in_cgroup() -> tuple[int | None, str]:
    limit, used = _cgroup("max"), _cgroup("current")
    name = f"the limit of {limit} processes and threads of the cgroup (`pids.max`)"
    return None if limit is None or used is None else limit - used, name


def _cgroup(what: str) -> int | None:
    """Return `pids.max` or `pids.current` of the cgroup of this process; None if there is no cgroup or no limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = {kinds: place for _, kinds, place in (line.split(":", 2) for line in lines)}
        place = f"pids{own['pids']}" if "pids" in own else own[""].lstrip("/")
        return int((CGROUP / place / f"pids.{what}").read_text())
    except (OSError, ValueError, KeyError):
        return None
