"""Kernels that are equal on the training set: solved as one, their weight shared among them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse

from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class Distinct:
    """Which kernels stand for all."""

    chosen: Integers
    """The first of each group of equal kernels."""
    group: Integers
    """(p,): the group of each kernel."""

    def shared(self, weights: Floats) -> Floats:
        """(p,): the weights of the chosen ones, in equal shares for all of their groups."""
        return np.asarray((weights / np.bincount(self.group))[self.group])


def distinct_columns(columns: scipy.sparse.csc_array) -> Distinct:
    """The columns that differ by more than rounding.

    Two words that only ever occur together, or once in the same document, are one kernel; kept apart they would
    make M singular.
    """
    first: dict[bytes, int] = {}
    indptr, indices = columns.indptr, columns.indices
    rounded = np.round(columns.data, 12)
    stands_for = [
        first.setdefault(indices[start:end].tobytes() + rounded[start:end].tobytes(), k)
        for k, (start, end) in enumerate(pairwise(indptr))
    ]
    return Distinct(*np.unique(np.array(stands_for, dtype=np.int64), return_inverse=True))
