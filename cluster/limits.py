"""Limits on threads, processes and address space: refused by name before they are met, and named when they are.

Where one is met, libraries fail in many ways: some raise, some abort, and some wait forever for a thread that could not
start.
"""

import errno
import os
import resource
from pathlib import Path

from kernel_pipeline.cluster.errors import LimitError

# As measured, with some to spare: the driver, the process that workers are forked from, and one worker.
THREADS_OF_DRIVER = 24
THREADS_OF_A_WORKER = 12
ADDRESS_SPACE = 3 << 30
"""Of the driver, whose libraries reserve much more than they use."""
MANY = 2000
"""Threads of a user that only other programs can use up."""
STARVED = ("can't start new thread", "cannot join thread before it is started")
CGROUP = Path("/sys/fs/cgroup")


def check_limits(workers: int) -> None:
    """Refuse to start so many workers where a limit would not let them run."""
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY and space < ADDRESS_SPACE:
        raise LimitError(
            f"the address space of a process is limited to {space >> 20} MiB (`ulimit -v`), and a run needs "
            f"{ADDRESS_SPACE >> 20} MiB: libraries reserve much more than they use. Raise the limit (`ulimit -v "
            "unlimited`), or ask who set it"
        )
    needed = THREADS_OF_DRIVER + THREADS_OF_A_WORKER * workers
    for free, name in (_free_processes(), _free_in_cgroup()):
        if free is not None and free < needed:
            raise LimitError(
                f"{workers} worker(s) need about {needed} threads and processes, and {name} leaves {max(0, free)}. Ask "
                "for fewer workers (--workers 1), end other processes, or raise the limit"
            )


def starved(error: BaseException) -> str:
    """Which limits may be behind an error for want of threads, processes or memory; empty for any other error."""
    seen: BaseException | None = error
    for _ in range(10):  # errors of Dask wrap each other
        if seen is None:
            return ""
        is_limit = isinstance(seen, MemoryError) or (
            isinstance(seen, OSError) and seen.errno in (errno.EAGAIN, errno.ENOMEM)
        )
        if is_limit or (isinstance(seen, RuntimeError) and any(words in str(seen) for words in STARVED)):
            return ", ".join(tight_limits()) or "the memory, or the number of processes, of this machine"
        seen = seen.__cause__ or seen.__context__
    return ""


def tight_limits() -> list[str]:
    """The limits of this process that a run may well meet, by the names under which they are set."""
    found = []
    space, _ = resource.getrlimit(resource.RLIMIT_AS)
    if space != resource.RLIM_INFINITY:
        found.append(f"{space >> 20} MiB of address space (`ulimit -v`)")
    processes, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    if processes != resource.RLIM_INFINITY and processes < MANY and os.geteuid() != 0:
        found.append(f"{processes} processes and threads of a user (`ulimit -u`)")
    if (most := _cgroup("max")) is not None and most < MANY:
        found.append(f"{most} processes and threads of a cgroup (`pids.max`)")
    return found


def _free_processes() -> tuple[int | None, str]:
    """How many more threads this user may have."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    name = f"the limit of {limit} processes and threads of a user (`ulimit -u`)"
    if limit == resource.RLIM_INFINITY or os.geteuid() == 0:  # root is not bound by it
        return None, name
    used = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
        except OSError:  # it has ended
            continue
        if int(fields["Uid"].split()[0]) == os.getuid():
            used += int(fields["Threads"])
    return limit - used, name


def _free_in_cgroup() -> tuple[int | None, str]:
    limit, used = _cgroup("max"), _cgroup("current")
    name = f"the limit of {limit} processes and threads of the cgroup (`pids.max`)"
    return None if limit is None or used is None else limit - used, name


def _cgroup(what: str) -> int | None:
    """A number of the cgroup of this process; None where it has none, or no limit."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        own = {kinds: place for _, kinds, place in (line.split(":", 2) for line in lines)}
        place = f"pids{own['pids']}" if "pids" in own else own[""].lstrip("/")
        return int((CGROUP / place / f"pids.{what}").read_text())
    except (OSError, ValueError, KeyError):
        return None
