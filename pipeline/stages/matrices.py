"""Whole matrices from the tiles on and above their diagonal."""

import numpy as np

from kernel_pipeline.store.arrays import RunStore
from kernel_pipeline.tasks.arrays import Floats


def read_symmetric(store: RunStore, group: str, name: str, index: int | slice = slice(None)) -> Floats:
    """(m, m) or (count, m, m): one or more of the symmetric matrices of an array (count, m, m)."""
    array = store.array(group, name)
    samples, side = array.shape[-1], array.chunks[-1]
    leading = () if isinstance(index, int) else (len(range(*index.indices(array.shape[0]))),)
    matrices = np.empty((*leading, samples, samples))
    for start in range(0, samples, side):
        rows, right = slice(start, min(start + side, samples)), slice(start, samples)
        matrices[..., rows, right] = store.read(group, name, (index, rows, right))
        matrices[..., right, rows] = np.swapaxes(matrices[..., rows, right], -1, -2)
    return matrices
