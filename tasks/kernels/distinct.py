"""Group kernels that are equal on the training set, so that solvers can treat each group as one kernel."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class DistinctKernels:
    """One representative of each group of equal kernels, and the group of each kernel."""

    chosen: Integers
    """The first kernel of each group."""
    group: Integers
    """(p,): the group of each kernel."""

    def shared(self, weights: Floats) -> Floats:
        """Divide the weight of each representative equally among the kernels of its group; return all weights, (p,)."""
        return np.asarray((weights / np.bincount(self.group))[self.group])


def distinct_columns(columns: scipy.sparse.csc_array) -> DistinctKernels:
    """Group columns that are equal up to rounding.

    Two words that only occur together, or only once and in the same document, give the same kernel. Separate kernels
    for them would make M singular.
    """
    first: dict[bytes, int] = {}
    indptr, indices = columns.indptr, columns.indices
    rounded = np.round(columns.data, 12)
    representatives = [
        first.setdefault(indices[start:end].tobytes() + rounded[start:end].tobytes(), k)
        for k, (start, end) in enumerate(pairwise(indptr))
    ]
    return DistinctKernels(*np.unique(np.array(representatives, dtype=np.int64), return_inverse=True))
