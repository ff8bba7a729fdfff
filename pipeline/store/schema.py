"""The arrays of a run: one table of their names, dimensions, chunks, types and meanings.

Everything else about arrays follows from `ARRAYS` and the sizes of a dataset: what is created and verified, and how
much disk and memory a plan projects.
"""

from typing import Literal

from kernel_pipeline.store.array_spec import BOTH, ONLY_GRAM, ONLY_RANK_ONE, ArraySpec, Dimension, Kernels, Per
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS


def _columns(key: str, dimension: Dimension, dtype: str, about: str, is_bound: bool = False) -> ArraySpec:
    """Return a part of the sparse columns of rank-one kernels."""
    pattern = f"{{dataset}}/columns/{key}"
    return ArraySpec(DATA, pattern, (dimension,), about, kernels=ONLY_RANK_ONE, dtype=dtype, is_bound=is_bound)


def _sums(key: str, *dims: Dimension) -> ArraySpec:
    """Return one of the sums that a task of the tiles stores: one chunk per batch."""
    pattern, about = f"{{dataset}}/sums/{key}", "sums of one batch of tiles"
    return ArraySpec(STATISTICS, pattern, ("batch", *dims), about, kernels=ONLY_GRAM, chunk_dims=("one", *dims))


def _statistic(
    key: str,
    dims: tuple[Dimension, ...],
    about: str,
    kernels: frozenset[Kernels] = BOTH,
    attributes: tuple[Literal["kernels", "shift"], ...] = (),
) -> ArraySpec:
    """Return a statistic of each trial: one chunk per trial."""
    return ArraySpec(
        STATISTICS,
        f"{{dataset}}/{{problem}}/{key}",
        ("trial", *dims),
        about,
        per=Per.PROBLEM,
        kernels=kernels,
        chunk_dims=("one", *dims),
        attributes=attributes,
    )


_COLUMNS_ABOUT = "feature columns of samples order[i], compressed by rows"
_WEIGHTS_ABOUT = (
    "weights of the trace-one kernels, in the order of the statistics; their absolute values sum to one; "
    "NaN for a failed solve"
)
_KERNEL: tuple[Dimension, ...] = ("kernel",)
_PRODUCTS: tuple[Dimension, ...] = ("kernel", "kernel")

ARRAYS: tuple[ArraySpec, ...] = (
    ArraySpec(GRAM, "{dataset}/order", ("sample",), "row of the source at each place", dtype="int64"),
    ArraySpec(GRAM, "{dataset}/fold", ("sample",), "fold of each place", dtype="int64"),
    ArraySpec(DATA, "{dataset}/targets", ("sample", "problem"), "a column of labels a task"),
    _columns("data", "entry", "float64", _COLUMNS_ABOUT, is_bound=True),
    _columns("indices", "entry", "int64", _COLUMNS_ABOUT, is_bound=True),
    _columns("indptr", "row_bound", "int64", _COLUMNS_ABOUT),
    _columns("offset", "feature", "float64", "taken off each column"),
    ArraySpec(
        GRAM,
        "{dataset}/gram",
        ("kernel", "sample", "sample"),
        "kernel k of samples order[i], order[j] is gram[k, i, j] + shift[k]; tiles on and above the diagonal",
        kernels=ONLY_GRAM,
        chunk_dims=("kernel", "tile", "tile"),
        attributes=("kernels", "shift"),
        is_symmetric=True,
    ),
    ArraySpec(DATA, "{dataset}/features", ("sample", "feature"), "features of samples order[i]", kernels=ONLY_GRAM),
    _sums("products", "fold", "fold", "kernel", "kernel"),
    _sums("labels", "problem", "fold", "fold", "kernel"),
    _sums("rows", "fold", "kernel", "sample"),
    _sums("diagonal", "kernel", "sample"),
    ArraySpec(
        COMBINED,
        "{dataset}/{problem}/{method}",
        ("trial", "sample", "sample"),
        "sum_k mu_k gram[k] / trace_k: K_mu up to a constant; tiles on and above the diagonal",
        per=Per.COMBINED,
        kernels=ONLY_GRAM,
        chunk_dims=("one", "tile", "tile"),
        is_symmetric=True,
    ),
    # The statistics are those of kernels that are scaled to trace one on the training set. Rank-one kernels lack some:
    # these follow from products of columns and from single entries.
    _statistic("M", _PRODUCTS, "<K_k, K_l> of the centered kernels, training set", ONLY_GRAM),
    _statistic("a", _KERNEL, "<K_k, y y'> of the centered kernels, training set"),
    _statistic(
        "trace",
        _KERNEL,
        "trace of the centered kernels before scaling, training set; 0 for a constant kernel",
        attributes=("kernels",),  # stored once, since there may be a million names
    ),
    _statistic("M_test", _PRODUCTS, "<K_k, K_l> of the same kernels, centered on the test fold", ONLY_GRAM),
    _statistic("a_test", _KERNEL, "<K_k, y y'> of the same kernels, centered on the test fold", ONLY_GRAM),
    _statistic("label_norms", ("part",), "yc . yc of the centered labels, training set and test fold"),
    _statistic("alignment", _KERNEL, "centered alignment of each kernel, training set; NaN where it is not defined"),
    _statistic("alignment_test", _KERNEL, "centered alignment of each kernel, test fold; NaN where it is not defined"),
    _statistic(
        "uncentered",
        _KERNEL,
        "alignment of each kernel without centering, training set; NaN where it is not defined",
    ),
    _statistic("unnormalised", _KERNEL, "unnormalised centered alignment of each kernel, training set"),
    _statistic(
        "diagonal",
        _KERNEL,
        "largest K(x, x) of each kernel before centering and scaling, training set",
        ONLY_GRAM,
    ),
    _statistic(
        "theorem12",
        _KERNEL,
        "Theorem 12 for each kernel, with probability 0.95; expectations over the training set",
    ),
    ArraySpec(
        WEIGHTS,
        "{dataset}/{problem}/{method}",
        ("trial", "kernel"),
        _WEIGHTS_ABOUT,
        per=Per.WEIGHTS,
        chunk_dims=("one", "kernel"),
    ),
    ArraySpec(
        WEIGHTS,
        "{dataset}/{problem}/certificate/{method}",
        ("trial",),
        "how far the weights are from optimal; 0 for a closed form, NaN for a failed solve",
        per=Per.WEIGHTS,
        chunk_dims=("one",),
    ),
)
"""All arrays, in the order in which they are created."""

STATISTICS_ARRAYS = tuple(spec.key for spec in ARRAYS if spec.per is Per.PROBLEM)
"""Names of the statistics of Gram families."""
RANK_ONE_ARRAYS = tuple(spec.key for spec in ARRAYS if spec.per is Per.PROBLEM and Kernels.RANK_ONE in spec.kernels)
"""Names of the statistics of rank-one families."""


def array_spec(group: str, key: str) -> ArraySpec:
    """Return the line of an array in the table.

    >>> array_spec(STATISTICS, "M").dims
    ('trial', 'kernel', 'kernel')
    """
    (found,) = (spec for spec in ARRAYS if (spec.group, spec.key) == (group, key))
    return found
