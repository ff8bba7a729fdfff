"""Define the arrays of a run: their names, dimensions, chunks, types and descriptions.

Everything else about arrays is derived from `ARRAYS` and the sizes of a dataset: what is created and verified, and how
much disk and memory a plan needs.
"""

from typing import Literal

from kernel_pipeline.store.array_spec import BOTH, ONLY_GRAM, ONLY_RANK_ONE, ArraySpec, Dimension, FamilyKind, Per
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, PREDICTIONS, STATISTICS, WEIGHTS


def _columns(key: str, dimension: Dimension, dtype: str, about: str, has_variable_length: bool = False) -> ArraySpec:
    """Return the spec of one part of the sparse columns of rank-one kernels."""
    return ArraySpec(
        DATA,
        f"{{fitted}}/columns/{key}",
        (dimension,),
        about,
        per=Per.FITTED,
        family_kinds=ONLY_RANK_ONE,
        dtype=dtype,
        has_variable_length=has_variable_length,
    )


def _sums(key: str, *dims: Dimension, per: Per = Per.SUMS) -> ArraySpec:
    """Return the spec of one of the sums that tile tasks store: one chunk per batch and block of samples."""
    return ArraySpec(
        STATISTICS,
        f"{{fitted}}/sums/{key}",
        ("batch", *dims),
        "sums of one batch of tiles",
        per=per,
        family_kinds=ONLY_GRAM,
        chunk_dims=("one", *("sample_block" if dim == "sample" else dim for dim in dims)),
    )


def _statistic(
    key: str,
    dims: tuple[Dimension, ...],
    about: str,
    family_kinds: frozenset[FamilyKind] = BOTH,
    attributes: tuple[Literal["kernels", "shift"], ...] = (),
    per: Per = Per.PROBLEM,
) -> ArraySpec:
    """Return the spec of a statistic of each trial: one chunk per trial."""
    return ArraySpec(
        STATISTICS,
        f"{{dataset}}/{{problem}}/{key}",
        ("trial", *dims),
        about,
        per=per,
        family_kinds=family_kinds,
        chunk_dims=("one", *dims),
        attributes=attributes,
    )


def _single_kernels(key: str, about: str) -> ArraySpec:
    """Return the spec of a result of fits of single kernels: one chunk per trial and batch of kernels."""
    return ArraySpec(
        STATISTICS,
        f"{{dataset}}/{{problem}}/each-kernel/{key}",
        ("trial", "kernel"),
        f"{about}; NaN without a fit",
        per=Per.SINGLE,
        chunk_dims=("one", "kernel_batch"),
    )


_COLUMNS_ABOUT = "feature columns of samples order[i], compressed by rows"
_WEIGHTS_ABOUT = (
    "weights of the trace-one kernels, in the order of the statistics; their absolute values sum to one; "
    "NaN for a failed solve"
)
_KERNEL: tuple[Dimension, ...] = ("kernel",)
_PRODUCTS: tuple[Dimension, ...] = ("kernel", "kernel")
_PERMUTED: tuple[Dimension, ...] = ("permutation", "kernel")
_PERMUTED_ABOUT = "<K_k, Y Y'> of the centered kernels for labels permuted within folds"

ARRAYS: tuple[ArraySpec, ...] = (
    ArraySpec(GRAM, "{dataset}/order", ("sample",), "row of the source at each position", dtype="int64"),
    ArraySpec(GRAM, "{dataset}/fold", ("sample",), "fold of each position", dtype="int64"),
    ArraySpec(
        GRAM,
        "{dataset}/folds",
        ("repeat", "sample"),
        "fold of each position in each repeat",
        per=Per.REPEATED,
        dtype="int64",
    ),
    ArraySpec(DATA, "{dataset}/targets", ("sample", "label"), "label columns, problem after problem"),
    _columns("data", "entry", "float64", _COLUMNS_ABOUT, has_variable_length=True),
    _columns("indices", "entry", "int64", _COLUMNS_ABOUT, has_variable_length=True),
    _columns("indptr", "row_bound", "int64", _COLUMNS_ABOUT),
    _columns("offset", "feature", "float64", "value subtracted from each column"),
    ArraySpec(
        GRAM,
        "{fitted}/gram",
        ("kernel", "sample", "sample"),
        "kernel k of samples order[i], order[j] is gram[k, i, j] + shift[k]; tiles on and above the diagonal",
        per=Per.FITTED,
        family_kinds=ONLY_GRAM,
        chunk_dims=("kernel", "tile", "tile"),
        attributes=("kernels", "shift"),
        is_symmetric=True,
        is_optional=True,
    ),
    ArraySpec(
        DATA,
        "{fitted}/features",
        ("sample", "feature"),
        "features of samples order[i]",
        per=Per.FITTED,
        family_kinds=ONLY_GRAM,
    ),
    ArraySpec(
        DATA,
        "{dataset}/precomputed",
        ("precomputed", "sample", "sample"),
        "precomputed kernels of samples order[i], order[j]; tiles on and above the diagonal",
        per=Per.PRECOMPUTED,
        family_kinds=ONLY_GRAM,
        chunk_dims=("one", "tile", "tile"),
        is_symmetric=True,
    ),
    _sums("products", "fold", "fold", "kernel", "kernel"),
    _sums("labels", "label", "fold", "fold", "kernel"),
    _sums("rows", "fold", "kernel", "sample"),
    _sums("diagonal", "kernel", "sample"),
    _sums("permuted", "problem", "permutation", "fold", "fold", "kernel", per=Per.PERMUTED_SUMS),
    ArraySpec(
        COMBINED,
        "{dataset}/{problem}/{method}",
        ("trial", "sample", "sample"),
        "sum_k mu_k gram[k] / trace_k: K_mu up to a constant; tiles on and above the diagonal",
        per=Per.COMBINED,
        family_kinds=ONLY_GRAM,
        chunk_dims=("one", "tile", "tile"),
        is_symmetric=True,
        is_optional=True,
    ),
    # The statistics are those of kernels that are scaled to trace one on the training set. Some are not stored for
    # rank-one kernels, since they follow from products of columns and from single entries.
    _statistic("M", _PRODUCTS, "<K_k, K_l> of the centered kernels, training set", ONLY_GRAM),
    _statistic("a", _KERNEL, "<K_k, Y Y'> of the centered kernels, training set"),
    _statistic(
        "trace",
        _KERNEL,
        "trace of the centered kernels before scaling, training set; 0 for a constant kernel",
        attributes=("kernels",),  # stored once, since there may be a million names
    ),
    _statistic("M_test", _PRODUCTS, "<K_k, K_l> of the same kernels, centered on the test fold", ONLY_GRAM),
    _statistic("a_test", _KERNEL, "<K_k, Y Y'> of the same kernels, centered on the test fold", ONLY_GRAM),
    _statistic("label_norms", ("part",), "norm of Y Y' of the centered labels, training set and test fold"),
    _statistic("alignment", _KERNEL, "centered alignment of each kernel, training set; NaN where it is not defined"),
    _statistic("alignment_test", _KERNEL, "centered alignment of each kernel, test fold; NaN where it is not defined"),
    _statistic(
        "uncentered",
        _KERNEL,
        "alignment of each kernel without centering, training set; NaN where it is not defined",
    ),
    _statistic(
        "direction",
        _KERNEL,
        "sign of the covariance of each column with the label, training set; NaN for several label columns",
        ONLY_RANK_ONE,
    ),
    _statistic("unnormalised", _KERNEL, "unnormalised centered alignment of each kernel, training set"),
    _statistic(
        "diagonal",
        _KERNEL,
        "largest K(x, x) of each kernel before centering and scaling, training set",
        ONLY_GRAM,
    ),
    # The debiased M and a are U-statistics times n (n - 3), and 0 where they are not defined.
    _statistic("M_debiased", _PRODUCTS, "debiased <K_k, K_l>, training set", ONLY_GRAM),
    _statistic("a_debiased", _KERNEL, "debiased <K_k, Y Y'>, training set", ONLY_GRAM),
    _statistic("M_test_debiased", _PRODUCTS, "debiased <K_k, K_l>, test fold", ONLY_GRAM),
    _statistic("a_test_debiased", _KERNEL, "debiased <K_k, Y Y'>, test fold", ONLY_GRAM),
    _statistic("label_norms_debiased", ("part",), "debiased norm of Y Y', training set and test fold", ONLY_GRAM),
    _statistic("alignment_debiased", _KERNEL, "debiased alignment of each kernel, training set; NaN if not defined"),
    _statistic("alignment_test_debiased", _KERNEL, "debiased alignment of each kernel, test fold; NaN if not defined"),
    _statistic("a_permuted", _PERMUTED, f"{_PERMUTED_ABOUT}, training set", ONLY_GRAM, per=Per.PERMUTED),
    _statistic("a_test_permuted", _PERMUTED, f"{_PERMUTED_ABOUT}, test fold", ONLY_GRAM, per=Per.PERMUTED),
    _statistic(
        "theorem12",
        _KERNEL,
        "Theorem 12 for each kernel, with probability 0.95; expectations over the training set",
    ),
    _single_kernels("validation_error", "validation error of each kernel alone at its best regularisation value"),
    _single_kernels("error", "test error of each kernel alone at its best regularisation value"),
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
    ArraySpec(
        PREDICTIONS,
        "{dataset}/{problem}/coefficients/{method}",
        ("trial", "ridge", "sample", "problem_label"),
        "coefficients of the fits that are solved in parts, from the largest ridge on; 0 for held-out samples, NaN for "
        "a fit that was not found",
        per=Per.IN_PARTS,
        family_kinds=ONLY_GRAM,
        chunk_dims=("one", "one", "sample", "problem_label"),
    ),
    ArraySpec(
        PREDICTIONS,
        "{dataset}/{problem}/{method}",
        ("trial", "sample", "problem_label"),
        "predictions, or decision values, of the chosen fit for samples order[i]; NaN for training samples",
        per=Per.PREDICTED,
        chunk_dims=("one", "sample", "problem_label"),
    ),
)
"""All arrays, in the order in which they are created."""


def _statistic_names(kind: FamilyKind) -> tuple[str, ...]:
    return tuple(spec.key for spec in ARRAYS if spec.per is Per.PROBLEM and kind in spec.family_kinds)


GRAM_STATISTICS = _statistic_names(FamilyKind.GRAM)
"""Names of the statistics of Gram families."""
RANK_ONE_STATISTICS = _statistic_names(FamilyKind.RANK_ONE)
"""Names of the statistics of rank-one families."""


def array_spec(group: str, key: str) -> ArraySpec:
    """Return the spec of an array.

    >>> array_spec(STATISTICS, "M").dims
    ('trial', 'kernel', 'kernel')
    """
    (found,) = (spec for spec in ARRAYS if (spec.group, spec.key) == (group, key))
    return found
