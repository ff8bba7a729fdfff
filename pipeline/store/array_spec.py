"""Specify an array of the schema, and the lengths of the dimensions of a dataset."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from kernel_pipeline.store.array_metadata import ITEM_BYTES

Dimension = Literal[
    "trial",
    "repeat",
    "fold",
    "batch",
    "problem",
    "permutation",
    "label",
    "problem_label",
    "kernel",
    "kernel_batch",
    "ridge",
    "precomputed",
    "sample",
    "sample_block",
    "feature",
    "entry",
    "row_bound",
    "part",
    "tile",
    "one",
]

# Maximum number of samples of a chunk of the sums of tiles, of which several copies exist while it is written.
SAMPLES_PER_BLOCK = 4096


class FamilyKind(Enum):
    """Kinds of kernel families, by what is stored for them."""

    GRAM = "Gram matrices"
    RANK_ONE = "columns of rank-one kernels"


class Per(Enum):
    """The entity that an array of the schema belongs to; each such entity of a dataset has one array."""

    DATASET = "dataset"
    FITTED = "dataset, or trial if data-dependent steps are fitted to the training set of each trial"
    SUMS = "dataset, repeat if there are several, or trial if data-dependent steps are fitted to its training set"
    REPEATED = "dataset with several repeats"
    PERMUTED_SUMS = "as SUMS, if labels are permuted"
    PERMUTED = "problem, if labels are permuted"
    PRECOMPUTED = "dataset with precomputed kernels"
    COMBINED = "problem and method whose combined kernels are stored"
    PROBLEM = "problem"
    SINGLE = "problem for which a predictor is fitted with each base kernel separately"
    WEIGHTS = "problem and method that gives weights"
    PREDICTED = "problem and method that has rows in the tables"
    IN_PARTS = "problem and method whose ridges are solved in parts"


BOTH = frozenset(FamilyKind)
ONLY_GRAM = frozenset({FamilyKind.GRAM})
ONLY_RANK_ONE = frozenset({FamilyKind.RANK_ONE})


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The lengths of the dimensions of the arrays of one dataset."""

    sample: int
    feature: int
    entry: int
    """Upper limit of the number of stored values of the columns: values that become zero are not stored."""
    kernel: int
    label: int
    """Number of label columns of all problems."""
    fold: int
    """Number of folds, including a fixed test set."""
    batch: int
    """Number of batches of tiles; 0 for rank-one families."""
    tile: int
    """Side length of a tile."""
    fixed_test: bool = False
    """Whether the last fold is the test set of every trial."""
    kernel_batch: int = 1
    """Number of base kernels for which one task fits separate predictors."""
    ridge: int = 0
    """Number of ridges of a path."""
    precomputed: int = 0
    """Number of precomputed kernels."""
    per_trial: bool = False
    """Whether data-dependent steps are fitted to the training set of each trial."""
    problem_label: int = 1
    """Number of label columns of the problem that an array belongs to."""
    repeat: int = 1
    """Number of repeats."""
    permutation: int = 0
    """Number of permutations of the labels."""
    problem: int = 1
    """Number of problems of the dataset."""

    def length(self, dimension: Dimension) -> int:
        """Return the length of a dimension.

        >>> sizes = Sizes(sample=9, feature=2, entry=18, kernel=4, label=1, fold=3, batch=1, tile=5)
        >>> sizes.length("kernel"), sizes.length("trial"), sizes.length("row_bound")
        (4, 3, 10)
        """
        match dimension:
            case "trial":
                return (self.fold - self.fixed_test) * self.repeat  # one per fold, not counting a fixed test set
            case "row_bound":
                return self.sample + 1
            case "sample_block":
                return min(self.sample, SAMPLES_PER_BLOCK)
            case "part":
                return 2  # training set and test fold
            case "one":
                return 1
            case _:
                return int(getattr(self, dimension))


@dataclass(frozen=True)
class ArraySpec:
    """One entry of the schema: an array that each dataset, problem or method has."""

    group: str
    pattern: str
    """Name in its group, with the placeholders `dataset`, `problem`, `method` and `fitted` (see `fitted_group`)."""
    dims: tuple[Dimension, ...]
    about: str
    per: Per = Per.DATASET
    family_kinds: frozenset[FamilyKind] = BOTH
    """Kinds of kernel families that have the array."""
    chunk_dims: tuple[Dimension, ...] | None = None
    """Dimensions of one chunk; None for an array that is one chunk."""
    dtype: str = "float64"
    attributes: tuple[Literal["kernels", "shift"], ...] = ()
    """Attributes stored with the array: the names of the kernels, and their shifts."""
    has_variable_length: bool = False
    """Whether the data determine the length, so that the shape is only an upper bound."""
    is_symmetric: bool = False
    """Whether only the chunks on and above the diagonal of the last two dimensions are stored."""
    is_optional: bool = False
    """Whether tasks can compute the values where they need them, so that the array need not be stored."""

    @property
    def key(self) -> str:
        """Return the name below the dataset and problem, such as `sums/rows`, `M` or `{method}`."""
        return self.pattern.removeprefix("{dataset}/").removeprefix("{fitted}/").removeprefix("{problem}/")

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of the array."""
        return tuple(map(sizes.length, self.dims))

    def chunks(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of one chunk."""
        return tuple(map(sizes.length, self.dims if self.chunk_dims is None else self.chunk_dims))

    def array_bytes(self, sizes: Sizes) -> int:
        """Return the size of the whole array in memory."""
        return math.prod(self.shape(sizes)) * ITEM_BYTES

    def chunk_bytes(self, sizes: Sizes) -> int:
        """Return the size of one chunk in memory."""
        return math.prod(self.chunks(sizes)) * ITEM_BYTES
