"""Memory of a worker: projected before a task is sent, measured while it runs."""

import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tasks.svm import CACHE_MEGABYTES

FLOAT = 8
# A worker process with every library loaded, and what its allocator keeps of earlier tasks.
RESERVED = 512 << 20


def sum_floats(samples: int, kernels: int, folds: int, targets: int) -> int:
    """Numbers in the sums of one batch of tiles."""
    return folds * kernels * (samples + 1) + folds**2 * kernels * (kernels + targets)


def projection(
    samples: int, features: int, kernels: int, folds: int, tile: int, cells: int, tasks: Sequence[str]
) -> dict[str, int]:
    """Peak bytes of a worker process while it runs one task of each stage.

    A chunk is written through two copies: its encoded bytes, and those with the checksum behind them.
    """
    chunk = tile * tile
    sums = sum_floats(samples, kernels, folds, len(tasks))
    train = samples - 2 * (samples // folds)
    floats = {
        "tiles": 3 * kernels * chunk + 2 * samples * features + 3 * sums,
        "reduce": 3 * sums + 2 * samples * kernels,
        "weights": 8 * kernels**2,
        "combine": (2 * kernels + cells * folds + 2) * chunk,
        # the kernel, its centered training columns, the training part, and the copy that is factorised
        "fits": samples**2 + samples * train + 3 * train**2,
    }
    projected = {stage: RESERVED + FLOAT * count for stage, count in floats.items()}
    if "classification" in tasks:
        projected["fits"] += min(CACHE_MEGABYTES << 20, FLOAT * train**2)
    return projected


@contextmanager
def measured_peak() -> Iterator[list[int]]:
    """The peak of this process's memory inside the block, in bytes, as the only item of a list."""
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


def text(size: float) -> str:
    """Bytes for people, in three digits.

    >>> text(3.21 * 2**30)
    '3.21 GiB'
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1024
    return f"{size:,.0f} TiB"
