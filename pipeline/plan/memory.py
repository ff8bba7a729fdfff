"""Project the memory of a worker process by stage, from the sizes of the arrays that a task holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from kernel_pipeline.plan.fit_arrays import (
    COPIES_COMBINED,
    base_kernel_bytes,
    feature_fit_bytes,
    fit_bytes,
    non_solver_bytes,
    rank_one_fit_bytes,
    signed_bytes,
    square_fit_bytes,
    stored_prediction_bytes,
)
from kernel_pipeline.plan.memory_parts import (
    COPIES_READ,
    COPIES_WRITTEN,
    RESERVED,
    array_bytes,
    chunk_bytes,
    label_bytes,
    tile_input_bytes,
)
from kernel_pipeline.plan.stage_plan import weight_batches
from kernel_pipeline.stages.statistics import ARRAYS as READ_STATISTICS
from kernel_pipeline.stages.statistics import PERMUTED
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS
from kernel_pipeline.store.schema import GRAM_STATISTICS, RANK_ONE_STATISTICS, array_spec
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.tasks.learners.svm import CACHE_MEGABYTES
from kernel_pipeline.tasks.statistics.repeated_sums import MAX_PERMUTED_ENTRIES

# Copies of sparse columns: as read, of training and held-out samples, scaled, by row and by column, with indices.
COPIES_OF_COLUMNS = 12
# Matrices of the size of M that the solver of a quadratic program holds.
COPIES_SOLVING = 8
SUMS = ("sums/products", "sums/labels", "sums/rows", "sums/diagonal")


@dataclass(frozen=True, kw_only=True)
class GramMemoryInputs:
    """What the memory of the tasks of a dataset with Gram families depends on."""

    sizes: Sizes
    train: int
    """Largest number of samples that a model is fitted to."""
    problems: Sequence[str]
    square_problems: Sequence[str]
    """Problems whose fits hold the combined kernel of the training samples."""
    predictions: int
    """Largest number of predictions per sample of a path: label columns times regularisation values."""
    rules: int
    """Number of method keys whose kernels are combined."""
    reads_base: bool = False
    """Whether some fit tasks hold all base kernels."""
    singles: bool = False
    """Whether base kernels are fitted separately."""
    reads_features: bool = False
    """Whether some fits use the features themselves."""
    any_sign: bool = False
    """Whether some of the combined kernels may have negative weights."""
    recompute: bool = False
    """Whether tasks compute the tiles of base kernels that they need, instead of reading them."""
    view_columns: int = 0
    """Number of columns of all views together."""
    in_parts_bytes: int = 0
    """Bytes of the arrays of fits that are solved in parts; 0 if there are none."""

    @property
    def gram_chunk_bytes(self) -> int:
        """Return the bytes of a tile of all base kernels."""
        return array_spec(GRAM, "gram").chunk_bytes(self.sizes)

    @property
    def tile_bytes(self) -> int:
        """Return the bytes of a tile of all base kernels, including the arrays from which it is read or computed."""
        if self.recompute:
            return tile_input_bytes(self.sizes, self.view_columns) + self.gram_chunk_bytes
        return COPIES_READ * self.gram_chunk_bytes


def gram_projection(inputs: GramMemoryInputs) -> dict[str, int]:
    """Return, for each stage, the peak bytes of a worker process that runs one of its tasks."""
    sizes, trials = inputs.sizes, _trials_together(inputs.sizes)
    weights, labels = array_spec(WEIGHTS, "{method}").array_bytes(sizes), label_bytes(sizes)
    combined_chunk = array_spec(COMBINED, "{method}").chunk_bytes(sizes)
    needed = {
        "tiles": tile_input_bytes(sizes, inputs.view_columns)
        + _sums_bytes(sizes)
        + COPIES_WRITTEN * (chunk_bytes(sizes, STATISTICS, SUMS) + (0 if inputs.recompute else inputs.gram_chunk_bytes))
        + _regrouped_bytes(sizes)
        + labels,
        "reduce": labels + _reduce_bytes(sizes),
        "weights": COPIES_READ * trials * chunk_bytes(sizes, STATISTICS, (*READ_STATISTICS, *PERMUTED))
        + COPIES_SOLVING * array_spec(STATISTICS, "M").chunk_bytes(sizes)
        + COPIES_WRITTEN * weights,
        "combine": COPIES_READ * inputs.gram_chunk_bytes
        + (trials + 2) * combined_chunk
        + (inputs.rules + COPIES_READ) * weights,
        "fits": labels + _gram_fit_bytes(inputs),
    }
    if inputs.recompute:
        del needed["combine"]
    problems = inputs.problems if inputs.reads_base or inputs.any_sign else inputs.square_problems
    projected = _projected(needed, problems, inputs.train)
    if inputs.in_parts_bytes:  # `in_parts_bytes` includes the cache of support vector machines
        in_parts = inputs.in_parts_bytes + non_solver_bytes(sizes, inputs.predictions, inputs.view_columns)
        projected["fits"] = max(projected["fits"], in_parts)
    return projected


def _gram_fit_bytes(inputs: GramMemoryInputs) -> int:
    """Return the bytes of the largest fit of a dataset with Gram families, without the labels."""
    sizes, train, predictions, tile = inputs.sizes, inputs.train, inputs.predictions, inputs.tile_bytes
    combined_chunk = array_spec(COMBINED, "{method}").chunk_bytes(sizes)
    fits = square_fit_bytes(sizes, train, inputs.square_problems, predictions)
    fits += (COPIES_COMBINED + _trials_together(sizes)) * combined_chunk
    fits += stored_prediction_bytes(sizes) + (tile if inputs.recompute else 0)
    if inputs.singles:  # the tiles of one batch of base kernels, of which the upper triangle is kept
        kept = FLOAT_BYTES * sizes.kernel_batch * sizes.sample**2 // 2 if sizes.kernel_batch > 1 else 0
        statistics = COPIES_READ * chunk_bytes(sizes, STATISTICS, READ_STATISTICS)
        statistics += COPIES_WRITTEN * array_spec(WEIGHTS, "{method}").array_bytes(sizes)
        fits = max(fits + kept + (0 if inputs.recompute else tile), statistics)
    if inputs.reads_features:
        fits = max(fits, feature_fit_bytes(sizes, train, predictions))
    if inputs.any_sign:
        fits = max(fits, tile + signed_bytes(sizes.sample, train, predictions))
    if inputs.reads_base:
        fits = max(fits, tile + base_kernel_bytes(sizes, train) + fit_bytes(sizes, train, predictions))
    return fits


def rank_one_projection(
    sizes: Sizes, train: int, problems: Sequence[str], predictions: int, needs_m: bool
) -> dict[str, int]:
    """Return, for each stage of a rank-one family, the peak bytes of a worker process that runs one of its tasks.

    Parameters
    ----------
    train
        Largest number of samples that a model is fitted to.
    predictions
        Largest number of predictions per sample of a path.
    needs_m
        Whether a method uses the p x p matrix M.
    """
    entries = array_spec(DATA, "columns/data").array_bytes(sizes)
    columns = COPIES_OF_COLUMNS * entries + 20 * FLOAT_BYTES * sizes.kernel + label_bytes(sizes)
    # Column generation solves on a working set, which is about as large as the number of nonzero weights, at most 2 n.
    working = 3 * FLOAT_BYTES * min(sizes.kernel, 2 * train) ** 2
    products = FLOAT_BYTES * (4 * sizes.kernel**2 + sizes.kernel * train) if needs_m else 0
    needed = {
        "reduce": columns
        + COPIES_WRITTEN * chunk_bytes(sizes, STATISTICS, RANK_ONE_STATISTICS)
        + COPIES_READ * array_spec(STATISTICS, "trace").array_bytes(sizes),
        "fits": columns
        + rank_one_fit_bytes(sizes, train, predictions)
        + stored_prediction_bytes(sizes)
        + working
        + products
        + COPIES_WRITTEN * array_spec(WEIGHTS, "{method}").chunk_bytes(sizes),
    }
    return _projected(needed, problems, train)


def rows_within_memory(rows: int, size: int, limit: int) -> int:
    """Estimate the number of rows with which a task stays within a memory limit; 0 if no number does.

    The memory grows with the square of the rows, apart from the memory that each process reserves.

    Parameters
    ----------
    rows, size
        Number of rows of the dataset, and the bytes that the task needs with all of them.

    Examples
    --------
    >>> rows_within_memory(20_000, RESERVED + (16 << 30), RESERVED + (4 << 30))
    10000
    >>> rows_within_memory(20_000, 2 * RESERVED, RESERVED)
    0
    """
    return int(rows * (max(0, limit - RESERVED) / max(1, size - RESERVED)) ** 0.5)


def _trials_together(sizes: Sizes) -> int:
    """Return the largest number of trials whose weights are determined together."""
    return max(map(len, weight_batches(sizes)))


def _sums_bytes(sizes: Sizes) -> int:
    """Return the bytes of the sums of one batch of tiles."""
    return array_bytes(replace(sizes, batch=1), STATISTICS, SUMS)


def _reduce_bytes(sizes: Sizes) -> int:
    """Return the bytes of the sums and statistics of a task of stage `reduce`."""
    # The statistics of one trial, or of all trials of a repeat.
    written, reduced = (chunk_bytes, sizes) if sizes.per_trial else (array_bytes, replace(sizes, repeat=1))
    orders = 1 if sizes.repeat == 1 else 2  # as they are stored, and in the order of the folds of a repeat
    return (
        (2 + orders) * _sums_bytes(sizes)  # the total, one batch, and the sums of a training set
        + 4 * FLOAT_BYTES * sizes.kernel * sizes.sample  # diagonals, centered and not
        + written(reduced, STATISTICS, GRAM_STATISTICS)
        + COPIES_WRITTEN * written(reduced, STATISTICS, ("M",))  # arrays are written one at a time; M is the largest
        + _permuted_bytes(reduced, written)
    )


def _regrouped_bytes(sizes: Sizes) -> int:
    """Return the bytes that the sums of a tile need if its samples are sorted by their folds in several repeats.

    These are the sums of the repeats, products of kernels over groups of samples that share their folds, a copy of the
    tile with its sorted parts, and permutations of the labels with their products.
    """
    if sizes.repeat == 1 and not sizes.permutation:
        return 0
    repeats = 1 if sizes.per_trial else sizes.repeat
    orders = FLOAT_BYTES * sizes.permutation * sizes.sample + array_spec(STATISTICS, "sums/permuted").chunk_bytes(sizes)
    products = 2 * FLOAT_BYTES * MAX_PERMUTED_ENTRIES if sizes.permutation else 0
    regrouped = 2 * array_spec(GRAM, "gram").chunk_bytes(sizes)
    return repeats * _sums_bytes(sizes) + (repeats + 1) * orders + products + regrouped


def _permuted_bytes(sizes: Sizes, written: Callable[[Sizes, str, Sequence[str]], int]) -> int:
    """Return the bytes that the statistics for permuted labels need: permutations, labels, sums and results."""
    if not sizes.permutation:
        return 0
    orders = 4 * FLOAT_BYTES * sizes.permutation * sizes.sample
    sums = 3 * array_spec(STATISTICS, "sums/permuted").chunk_bytes(sizes)
    return orders + sums + COPIES_WRITTEN * written(sizes, STATISTICS, PERMUTED)


def _projected(needed: dict[str, int], problems: Sequence[str], train: int) -> dict[str, int]:
    """Return the needed bytes by stage, including the reserve of each process and the cache of the SVM."""
    projected = {stage: RESERVED + size for stage, size in needed.items()}
    if "classification" in problems:
        projected["fits"] += min(CACHE_MEGABYTES << 20, FLOAT_BYTES * train**2)
    return projected
