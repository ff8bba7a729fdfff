"""Create the arrays of a dataset and store its data."""

from typing import Any

import numpy as np
import scipy.sparse

from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.store.arrays import DATA, GRAM, RunStore
from kernel_pipeline.tasks.arrays import Floats


def create_arrays(store: RunStore, plan: DatasetPlan, samples: PreparedDataset) -> dict[str, str]:
    """Store the data of a dataset and describe the arrays that its tasks fill; existing chunks are kept.

    Returns
    -------
    The digests of all files of the data and of all descriptions, by key.
    """
    stored = stored_values(plan, samples)
    digests: dict[str, str] = {}
    for array in plan.arrays:
        values = stored.get(array.key)
        shape, chunks = (array.shape, array.chunks) if values is None else (values.shape, values.shape)
        digests |= store.create(
            array.group, array.name, shape, chunks, array.about, dtype=array.dtype, attributes=array.attributes
        )
        if values is not None:
            digests |= store.write(array.group, array.name, values)
    return digests


def stored_values(plan: DatasetPlan, samples: PreparedDataset) -> dict[str, Any]:
    """Return the values of the arrays that hold the data, by key."""
    values = {
        f"{GRAM}/{plan.name}/order": samples.order,
        f"{GRAM}/{plan.name}/fold": samples.fold,
        f"{DATA}/{plan.name}/targets": np.column_stack([samples.targets[task] for task in plan.tasks_learned]),
    }
    if not plan.rank_one:
        return values | {f"{DATA}/{plan.name}/features": np.asarray(samples.features)}
    columns, offset = split_columns(samples.features)
    parts = {"data": columns.data, "indices": columns.indices, "indptr": columns.indptr, "offset": offset}
    return values | {f"{DATA}/{plan.name}/columns/{key}": part for key, part in parts.items()}


def split_columns(features: Floats | scipy.sparse.csr_array) -> tuple[scipy.sparse.csr_array, Floats]:
    """Return sparse columns, and what was subtracted from each: the mean of a full column, 0 for others.

    Without the mean, the digits of what varies are kept.
    """
    if isinstance(features, np.ndarray):
        offset = features.mean(axis=0)
        return scipy.sparse.csr_array(features - offset), offset
    full = np.bincount(features.indices, minlength=features.shape[1]) == features.shape[0]
    offset = np.where(full, np.asarray(features.mean(axis=0)).ravel(), 0.0)
    shifted = features.copy()
    shifted.data = features.data - offset[features.indices]
    return shifted, offset
