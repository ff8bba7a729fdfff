"""The form of a line in the table of arrays, and the sizes of the dimensions of a dataset."""

import math
from dataclasses import dataclass
from enum import Enum
from typing import Literal

from kernel_pipeline.store.array_metadata import ITEM_BYTES

Dimension = Literal[
    "trial", "fold", "batch", "problem", "kernel", "sample", "feature", "entry", "row_bound", "part", "tile", "one"
]


class Kernels(Enum):
    """Kinds of kernel families, by what is stored of them."""

    GRAM = "Gram matrices"
    RANK_ONE = "columns of rank-one kernels"


class Per(Enum):
    """What a dataset has one array for."""

    DATASET = "dataset"
    COMBINED = "problem and method whose combined kernels are stored"
    PROBLEM = "problem"
    WEIGHTS = "problem and method that gives weights"


BOTH = frozenset(Kernels)
ONLY_GRAM = frozenset({Kernels.GRAM})
ONLY_RANK_ONE = frozenset({Kernels.RANK_ONE})


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """The lengths of the dimensions of the arrays of one dataset."""

    sample: int
    feature: int
    entry: int
    """Number of stored values of the columns; fewer may be stored, since new zeros are dropped."""
    kernel: int
    problem: int
    fold: int
    batch: int
    """Number of batches of tiles; 0 for rank-one families."""
    tile: int
    """Side length of a tile."""

    def length(self, dimension: Dimension) -> int:
        """Return the length of a dimension.

        >>> sizes = Sizes(sample=9, feature=2, entry=18, kernel=4, problem=1, fold=3, batch=1, tile=5)
        >>> sizes.length("kernel"), sizes.length("trial"), sizes.length("row_bound")
        (4, 3, 10)
        """
        match dimension:
            case "trial":
                return self.fold  # each fold is the test fold of one trial
            case "row_bound":
                return self.sample + 1
            case "part":
                return 2  # training set and test fold
            case "one":
                return 1
            case _:
                return int(getattr(self, dimension))


@dataclass(frozen=True)
class ArraySpec:
    """One line of the table: an array that each dataset, problem or method has."""

    group: str
    pattern: str
    """Name in its group, with the fields `dataset`, `problem` and `method`."""
    dims: tuple[Dimension, ...]
    about: str
    per: Per = Per.DATASET
    kernels: frozenset[Kernels] = BOTH
    """Kinds of kernel families that have the array."""
    chunk_dims: tuple[Dimension, ...] | None = None
    """Dimensions of one chunk; None for an array that is one chunk."""
    dtype: str = "float64"
    attributes: tuple[Literal["kernels", "shift"], ...] = ()
    """What is stored with the array: the names of the kernels, and their shifts."""
    is_bound: bool = False
    """Whether the data determine the length, and the sizes only an upper limit."""
    is_symmetric: bool = False
    """Whether only the chunks on and above the diagonal of the last two dimensions are stored."""

    @property
    def key(self) -> str:
        """Name below its dataset and problem, such as `sums/rows`, `M` or `{method}`."""
        return self.pattern.removeprefix("{dataset}/").removeprefix("{problem}/")

    def shape(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of the array."""
        return tuple(map(sizes.length, self.dims))

    def chunks(self, sizes: Sizes) -> tuple[int, ...]:
        """Return the shape of one chunk."""
        return tuple(map(sizes.length, self.dims if self.chunk_dims is None else self.chunk_dims))

    def array_bytes(self, sizes: Sizes) -> int:
        """Return the bytes of the whole array in memory."""
        return math.prod(self.shape(sizes)) * ITEM_BYTES

    def chunk_bytes(self, sizes: Sizes) -> int:
        """Return the bytes of one chunk in memory."""
        return math.prod(self.chunks(sizes)) * ITEM_BYTES
