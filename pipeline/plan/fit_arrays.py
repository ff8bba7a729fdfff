"""Project the sizes of the arrays that fits hold, by kind of fit."""

from collections.abc import Sequence

from kernel_pipeline.plan.memory_parts import (
    COPIES_READ,
    COPIES_WRITTEN,
    RESERVED,
    chunk_bytes,
    label_bytes,
    tile_input_bytes,
)
from kernel_pipeline.stages.matrices import HELD_OUT_BYTES
from kernel_pipeline.stages.statistics import ARRAYS as READ_STATISTICS
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.arrays import COMBINED, GRAM, STATISTICS, WEIGHTS
from kernel_pipeline.store.schema import array_spec
from kernel_pipeline.tasks.arrays import FLOAT_BYTES
from kernel_pipeline.tasks.learners.linear import has_few_features
from kernel_pipeline.tasks.learners.single_columns import PREDICTION_BYTES

# Arrays of the size of the predictions of a path: with and without the means, and two copies of the coefficients.
COPIES_OF_PREDICTIONS = 4
# Size of all matrices that a learner needs, including one byte per entry for a check of the values, relative to the
# kernel of the training samples.
RELATIVE_KERNEL_SIZE = {"regression": 1.3, "classification": 1.25}
# Copies of a block of rows of held-out samples, including those made to assemble it and to reorder it for a learner.
COPIES_OF_ROWS = 4
# Copies of a tile of a combined kernel: as read or computed, and the parts that are copied from it.
COPIES_COMBINED = 4
# Copies of dense columns in a fit that forms no kernel: weighted, signed, scaled for a step, and factors.
COPIES_OF_DENSE_COLUMNS = 8
# Copies of the kernel of a linear fit: the kernel, and what its alignment needs.
COPIES_OF_LINEAR_KERNEL = 4
# Copies of the predictions of columns that are fitted separately: their parts, classes and errors.
SINGLE_COLUMN_COPIES = 4
# Vectors with one number per sample in a step of the interior-point method.
VECTORS_OF_STEP = 40


def fit_bytes(sizes: Sizes, train: int, predictions: int) -> int:
    """Return the bytes of the arrays of a fit: kernel, centered columns, matrices to factorise and predictions."""
    samples = sizes.sample
    return FLOAT_BYTES * (
        samples**2 + 2 * samples * train + 3 * train**2 + COPIES_OF_PREDICTIONS * predictions * samples
    )


def square_fit_bytes(sizes: Sizes, train: int, problems: Sequence[str], predictions: int) -> int:
    """Return the bytes of the arrays of a fit that holds the kernel of the training samples once."""
    if not problems:
        return 0
    held_out = sizes.sample - train
    squares = max(RELATIVE_KERNEL_SIZE[problem] for problem in problems) * train**2
    rows = COPIES_OF_ROWS * train * min(sizes.tile, held_out)
    kept = min(held_out * train, HELD_OUT_BYTES // FLOAT_BYTES)
    return FLOAT_BYTES * int(squares + rows + kept + COPIES_OF_PREDICTIONS * predictions * sizes.sample)


def signed_bytes(samples: int, train: int, predictions: int) -> int:
    """Return the bytes of the arrays of a fit of the positive part of a kernel, including an eigendecomposition."""
    return FLOAT_BYTES * (
        samples**2 + 2 * samples * train + 6 * train**2 + COPIES_OF_PREDICTIONS * predictions * samples
    )


def column_fit_bytes(sizes: Sizes, columns: int, predictions: int) -> int:
    """Return the bytes of the arrays of a fit with fewer columns than training samples, which forms no kernel."""
    per_sample = COPIES_OF_DENSE_COLUMNS * columns + COPIES_OF_PREDICTIONS * predictions + VECTORS_OF_STEP
    return FLOAT_BYTES * (sizes.sample * per_sample + 4 * columns**2)


def feature_fit_bytes(sizes: Sizes, train: int, predictions: int) -> int:
    """Return the bytes of the arrays of a fit of a linear kernel on all features of a dataset."""
    if has_few_features(sizes.feature, train):
        return column_fit_bytes(sizes, sizes.feature, predictions)
    # The features as they are read, centered and scaled; the kernel of the training samples, and its alignment.
    per_sample = 3 * sizes.feature + COPIES_OF_PREDICTIONS * predictions + VECTORS_OF_STEP
    return FLOAT_BYTES * (sizes.sample * per_sample + COPIES_OF_LINEAR_KERNEL * train**2)


def rank_one_fit_bytes(sizes: Sizes, train: int, predictions: int) -> int:
    """Return the bytes of the arrays of a fit of a rank-one family with any method."""
    found = [SINGLE_COLUMN_COPIES * PREDICTION_BYTES]
    if sizes.kernel < train:
        found.append(column_fit_bytes(sizes, sizes.kernel, predictions))
    if not has_few_features(sizes.kernel, train):
        found.append(fit_bytes(sizes, train, predictions))
    return max(found)


def base_kernel_bytes(sizes: Sizes, train: int) -> int:
    """Return the bytes of all base kernels, as stored and centered, and of the statistics and weights of a trial."""
    return (
        array_spec(GRAM, "gram").array_bytes(sizes)
        + FLOAT_BYTES * sizes.kernel * sizes.sample * train
        + COPIES_READ * chunk_bytes(sizes, STATISTICS, READ_STATISTICS)
        + COPIES_WRITTEN * array_spec(WEIGHTS, "{method}").chunk_bytes(sizes)
    )


def non_solver_bytes(sizes: Sizes, predictions: int, view_columns: int) -> int:
    """Return the bytes of a process with a fit in parts, besides its solver: libraries, data, labels, predictions."""
    tiles = COPIES_READ * array_spec(GRAM, "gram").chunk_bytes(sizes)
    tiles += COPIES_COMBINED * array_spec(COMBINED, "{method}").chunk_bytes(sizes)
    predicted = FLOAT_BYTES * COPIES_OF_PREDICTIONS * predictions * sizes.sample + stored_prediction_bytes(sizes)
    return RESERVED + tile_input_bytes(sizes, view_columns) + label_bytes(sizes) + tiles + predicted


def stored_prediction_bytes(sizes: Sizes) -> int:
    """Return the bytes of the predictions of one fit while they are written, at most one column per label column."""
    return COPIES_WRITTEN * FLOAT_BYTES * sizes.sample * sizes.label
