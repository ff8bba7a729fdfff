"""Projected memory of a worker process, by stage, from the sizes of the arrays that a task holds."""

from collections.abc import Sequence

from kernel_pipeline.stages.statistics import ARRAYS as SOLVER_ARRAYS
from kernel_pipeline.stages.weights import trial_batches
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS
from kernel_pipeline.store.schema import RANK_ONE_ARRAYS, STATISTICS_ARRAYS, array_spec
from kernel_pipeline.tasks.learners.svm import CACHE_MEGABYTES

FLOAT = 8
# A worker process with every library loaded, and what its allocator keeps of earlier tasks.
RESERVED = 512 << 20
# Sparse columns: as read, of the training set and of the others, scaled, by row and by column, with their places.
COPIES_OF_COLUMNS = 12
# A chunk that is written: its values, its encoded bytes, and those followed by the checksum.
COPIES_WRITTEN = 3
# An array that is read: its values, and the bytes of its chunks while they are decoded.
COPIES_READ = 2
# Matrices of the size of M that a quadratic program holds while it is solved.
COPIES_SOLVING = 8
SUMS = ("sums/products", "sums/labels", "sums/rows", "sums/diagonal")


def gram_projection(sizes: Sizes, problems: Sequence[str], rules: int, reads_base: bool) -> dict[str, int]:
    """Return the peak bytes of a worker process while it runs one task of each stage.

    Parameters
    ----------
    rules
        Number of problems and methods whose kernels are combined.
    reads_base
        Whether a task of the fits holds all base kernels.
    """
    gram, combined = array_spec(GRAM, "gram"), array_spec(COMBINED, "{method}")
    features, diagonal = array_spec(DATA, "features"), array_spec(STATISTICS, "sums/diagonal")
    sums = _chunk_bytes(sizes, STATISTICS, SUMS)
    weights = array_spec(WEIGHTS, "{method}").array_bytes(sizes)
    products = array_spec(STATISTICS, "M")
    read = _chunk_bytes(sizes, STATISTICS, SOLVER_ARRAYS)  # of one trial
    train = training_samples(sizes.sample, sizes.fold)
    needed = {
        "tiles": COPIES_WRITTEN * (gram.chunk_bytes(sizes) + features.array_bytes(sizes) + sums),
        # The total, one batch and the sums of a training set; then the statistics of all trials, of which the largest
        # is written.
        "reduce": 3 * sums
        + 2 * diagonal.chunk_bytes(sizes)
        + _array_bytes(sizes, STATISTICS, STATISTICS_ARRAYS)
        + COPIES_WRITTEN * products.array_bytes(sizes),
        "weights": COPIES_READ * read * max(map(len, trial_batches(sizes.fold, sizes.kernel)))
        + COPIES_SOLVING * products.chunk_bytes(sizes)
        + COPIES_WRITTEN * weights,
        "combine": COPIES_READ * gram.chunk_bytes(sizes)
        + (sizes.fold + 2) * combined.chunk_bytes(sizes)
        + (rules + COPIES_READ) * weights,
        "fits": fit_bytes(sizes.sample, train),
    }
    if reads_base:  # as they are stored, and centered; then the statistics and the weights of the trial
        needed["fits"] += gram.array_bytes(sizes) + FLOAT * sizes.kernel * sizes.sample * train
        needed["fits"] += COPIES_READ * read + COPIES_WRITTEN * array_spec(WEIGHTS, "{method}").chunk_bytes(sizes)
    return _projected(needed, problems, train)


def rank_one_projection(sizes: Sizes, problems: Sequence[str], needs_m: bool) -> dict[str, int]:
    """Return the same for rank-one kernels.

    Parameters
    ----------
    needs_m
        Whether a method takes the p x p matrix M.
    """
    train = training_samples(sizes.sample, sizes.fold)
    entries = array_spec(DATA, "columns/data").array_bytes(sizes)
    columns = COPIES_OF_COLUMNS * entries + 20 * FLOAT * sizes.kernel
    # Column generation solves on a working set of about as many kernels as get weight, some n of them.
    working = 3 * FLOAT * min(sizes.kernel, 2 * train) ** 2
    products = FLOAT * (4 * sizes.kernel**2 + sizes.kernel * train) if needs_m else 0
    needed = {
        "reduce": columns
        + COPIES_WRITTEN * _chunk_bytes(sizes, STATISTICS, RANK_ONE_ARRAYS)
        + COPIES_READ * array_spec(STATISTICS, "trace").array_bytes(sizes),
        "fits": columns
        + fit_bytes(sizes.sample, train)
        + working
        + products
        + COPIES_WRITTEN * array_spec(WEIGHTS, "{method}").chunk_bytes(sizes),
    }
    return _projected(needed, problems, train)


def training_samples(samples: int, folds: int) -> int:
    """Return the size of the largest training set."""
    return samples - 2 * (samples // folds)


def fit_bytes(samples: int, train: int) -> int:
    """Return what a fit holds: the kernel, its centered training columns, what is measured, what is factorised."""
    return FLOAT * (samples**2 + 2 * samples * train + 3 * train**2)


def _projected(needed: dict[str, int], problems: Sequence[str], train: int) -> dict[str, int]:
    """Return the needed bytes by stage, with what every process takes and the cache of the support vector machine."""
    projected = {stage: RESERVED + size for stage, size in needed.items()}
    if "classification" in problems:
        projected["fits"] += min(CACHE_MEGABYTES << 20, FLOAT * train**2)
    return projected


def _array_bytes(sizes: Sizes, group: str, keys: Sequence[str]) -> int:
    return sum(array_spec(group, key).array_bytes(sizes) for key in keys)


def _chunk_bytes(sizes: Sizes, group: str, keys: Sequence[str]) -> int:
    return sum(array_spec(group, key).chunk_bytes(sizes) for key in keys)
