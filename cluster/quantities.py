"""Parse the memory sizes and wall times of profiles."""

from typing import Annotated

from pydantic import AfterValidator

MAX_HANDOVER_S = 300.0
"""Upper limit of `handover_seconds`, which applies to jobs with a wall time of at least 20 minutes."""


def parse_memory(size: str) -> int:
    """Return the number of bytes of a memory size.

    Examples
    --------
    >>> parse_memory("16 GiB")
    17179869184
    """
    from dask.utils import parse_bytes

    return int(parse_bytes(size))


def walltime_seconds(walltime: str) -> float:
    """Return a wall time in seconds.

    Examples
    --------
    >>> walltime_seconds("4:00:10")
    14410.0
    """
    hours, minutes, seconds = map(int, walltime.split(":"))
    return 3600.0 * hours + 60.0 * minutes + seconds


def handover_seconds(walltime: str) -> float:
    """Return the time before the end of a job at which its work is handed over to other jobs, in seconds.

    Examples
    --------
    >>> handover_seconds("4:00:00"), handover_seconds("0:02:00")
    (300.0, 30.0)
    """
    return min(MAX_HANDOVER_S, walltime_seconds(walltime) / 4)


def _check_memory(value: str) -> str:
    try:
        is_valid = parse_memory(value) > 0 and not value.strip().isdigit()
    except ValueError:
        is_valid = False
    if not is_valid:
        raise ValueError(f"must be a number of bytes with its unit, such as '16 GiB'; got {value!r}")
    return value


def _check_walltime(value: str) -> str:
    parts = value.split(":")
    is_valid = len(parts) == 3 and all(part.isdigit() for part in parts) and all(int(part) < 60 for part in parts[1:])
    if not (is_valid and walltime_seconds(value) > 0):
        raise ValueError(f"must be hours:minutes:seconds, such as '4:00:00'; got {value!r}")
    return value


MemorySize = Annotated[str, AfterValidator(_check_memory)]
Walltime = Annotated[str, AfterValidator(_check_walltime)]
