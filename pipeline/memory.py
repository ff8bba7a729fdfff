"""Memory of a worker: projected before a task is sent, measured while it runs."""

import resource
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pipeline.errors import TooLargeError
from tasks.svm import CACHE_MEGABYTES

FLOAT = 8
# A worker process with every library loaded, and what its allocator keeps of earlier tasks.
RESERVED = 512 << 20
# Sparse columns: as read, of the training set and of the others, scaled, by row and by column, with their places.
COPIES_OF_COLUMNS = 12


# Tables of at most this size are not held against the memory of the machine, which takes a while to find out.
SMALL_TABLE = 256 << 20
# A table of samples is in memory as it is read, encoded, sampled and in fold order.
COPIES_OF_TABLE = 4


def check_table(rows: int, columns: int, dataset: str) -> None:
    """Refuse a table of samples that this machine has no memory for, before it is made."""
    needed = FLOAT * rows * columns * COPIES_OF_TABLE
    if needed <= SMALL_TABLE:
        return
    from distributed.system import MEMORY_LIMIT

    if needed > MEMORY_LIMIT:
        raise TooLargeError(
            f"dataset {dataset!r}: {rows:,} rows with {columns:,} features need about {text(needed)} of memory to be "
            f"made ready, and this machine has {text(MEMORY_LIMIT)}. Choose fewer rows or features"
        )


def sum_floats(samples: int, kernels: int, folds: int, targets: int) -> int:
    """Numbers in the sums of one batch of tiles."""
    return folds * kernels * (samples + 1) + folds**2 * kernels * (kernels + targets)


def gram_projection(
    samples: int,
    features: int,
    kernels: int,
    folds: int,
    tile: int,
    tasks: Sequence[str],
    reads_base: bool,
) -> dict[str, int]:
    """Peak bytes of a worker process while it runs one task of each stage.

    A chunk is written through two copies: its encoded bytes, and those with the checksum behind them.

    Parameters
    ----------
    reads_base
        Whether a task of the fits holds all base kernels.
    """
    chunk = tile * tile
    sums = sum_floats(samples, kernels, folds, len(tasks))
    train = training_samples(samples, folds)
    floats = {
        "tiles": 3 * kernels * chunk + 3 * samples * features + 3 * sums,
        "reduce": 3 * sums + 2 * samples * kernels,
        "weights": 8 * kernels**2,
        "combine": (2 * kernels + folds + 2) * chunk,
        "fits": fit_floats(samples, train),
    }
    if reads_base:  # as they are stored, and centered
        floats["fits"] += kernels * samples * (samples + train)
    projected = {stage: RESERVED + FLOAT * count for stage, count in floats.items()}
    projected["fits"] += _svm_cache(train, tasks)
    return projected


def rank_one_projection(
    samples: int, entries: int, kernels: int, folds: int, tasks: Sequence[str], needs_m: bool
) -> dict[str, int]:
    """The same for rank-one kernels; `entries` are the numbers in their columns.

    Parameters
    ----------
    needs_m
        Whether a method takes the p x p matrix M.
    """
    train = training_samples(samples, folds)
    columns = COPIES_OF_COLUMNS * entries + 20 * kernels
    # Column generation solves on a working set of about as many kernels as get weight, some n of them.
    working = 3 * min(kernels, 2 * train) ** 2
    floats = {
        "reduce": columns,
        "fits": columns + fit_floats(samples, train) + working + (4 * kernels**2 + kernels * train if needs_m else 0),
    }
    projected = {stage: RESERVED + FLOAT * count for stage, count in floats.items()}
    projected["fits"] += _svm_cache(train, tasks)
    return projected


def training_samples(samples: int, folds: int) -> int:
    """The size of the largest training set."""
    return samples - 2 * (samples // folds)


def fit_floats(samples: int, train: int) -> int:
    """Numbers that a fit holds: the kernel, its centered training columns, what is measured, what is factorised."""
    return samples**2 + 2 * samples * train + 3 * train**2


def _svm_cache(train: int, tasks: Sequence[str]) -> int:
    return min(CACHE_MEGABYTES << 20, FLOAT * train**2) if "classification" in tasks else 0


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
