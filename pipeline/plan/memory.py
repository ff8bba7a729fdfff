"""Memory of a worker: projected before a task is sent, measured while it runs."""

from collections.abc import Sequence

from kernel_pipeline.tasks.learners.svm import CACHE_MEGABYTES

FLOAT = 8
# A worker process with every library loaded, and what its allocator keeps of earlier tasks.
RESERVED = 512 << 20
# Sparse columns: as read, of the training set and of the others, scaled, by row and by column, with their places.
COPIES_OF_COLUMNS = 12


def sum_floats(samples: int, kernels: int, folds: int, targets: int) -> int:
    """Numbers in the sums of one batch of tiles."""
    return (folds + 1) * kernels * samples + folds**2 * kernels * (kernels + targets)


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
