"""Measure the peak memory of a process."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def measured_peak() -> Iterator[list[int]]:
    """Yield a list of one item, which is set to the peak memory of this process in bytes when the block ends."""
    peak = [0]
    clear, status = Path("/proc/self/clear_refs"), Path("/proc/self/status")
    can_reset = sys.platform == "linux" and clear.exists()
    if can_reset:
        try:
            clear.write_text("5")
        except OSError:
            can_reset = False
    try:
        yield peak
    finally:
        if can_reset:
            line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
            peak[0] = int(line.split()[1]) << 10
        else:
            unit = 1 if sys.platform == "darwin" else 1 << 10
            peak[0] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
