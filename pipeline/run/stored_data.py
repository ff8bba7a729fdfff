"""Create the arrays of a dataset and store its data."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
import scipy.sparse

from kernel_pipeline.data.precomputed import PrecomputedKernels
from kernel_pipeline.data.prepared import PreparedDataset
from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.stages.rank_one import COLUMNS
from kernel_pipeline.store.arrays import DATA, GRAM, RunStore
from kernel_pipeline.store.inputs import PRECOMPUTED
from kernel_pipeline.store.paths import fitted_group
from kernel_pipeline.tasks.arrays import Floats


def create_arrays(store: RunStore, plan: DatasetPlan, samples: PreparedDataset) -> dict[str, str]:
    """Store the data of a dataset and the metadata of the arrays that its tasks fill; existing chunks are kept.

    Returns
    -------
    digests
        The digests of all files of the data and of all metadata, by key.
    """
    stored = stored_values(plan, samples)
    digests: dict[str, str] = {}
    for array in plan.arrays:
        values = stored[array.key]() if array.key in stored else None
        shape, chunks = (array.shape, array.chunks) if values is None else (values.shape, values.shape)
        digests |= store.create(
            array.group, array.name, shape, chunks, array.about, dtype=array.dtype, attributes=array.attributes
        )
        if values is not None:
            digests |= store.write(array.group, array.name, values)
    if samples.precomputed is not None:
        digests |= _store_precomputed(store, plan, samples.precomputed)
    return digests


def _store_precomputed(store: RunStore, plan: DatasetPlan, precomputed: PrecomputedKernels) -> dict[str, str]:
    """Copy the precomputed kernels tile by tile, so that neither workers nor a resumed run need their files."""
    digests: dict[str, str] = {}
    for number in range(len(precomputed.kernels)):
        for tile, values in precomputed.tiles(number, plan.tile_size):
            digests |= store.write_chunk(DATA, f"{plan.name}/{PRECOMPUTED}", (number, *tile), values[None])
    return digests


def stored_values(plan: DatasetPlan, samples: PreparedDataset) -> dict[str, Callable[[], Any]]:
    """Return functions that compute the values of the arrays of the data, by key.

    The features of all trials together may not fit in memory, so only those of one trial are kept at a time.
    """
    values: dict[str, Callable[[], Any]] = {
        f"{GRAM}/{plan.name}/order": lambda: samples.order,
        f"{GRAM}/{plan.name}/fold": lambda: samples.fold,
        f"{DATA}/{plan.name}/targets": lambda: np.column_stack([samples.targets[problem] for problem in plan.problems]),
    }
    if samples.fold_by_repeat is not None:
        values[f"{GRAM}/{plan.name}/folds"] = lambda: samples.fold_by_repeat
    columns = lru_cache(maxsize=1)(partial(_column_parts, samples))
    for trial in plan.info.fitted_trials(plan.trials):
        group = f"{DATA}/{fitted_group(plan.name, trial)}"
        if plan.rank_one:
            values |= {f"{group}/columns/{part}": partial(_part, columns, trial, part) for part in COLUMNS}
        else:
            values[f"{group}/features"] = partial(samples.features_of, trial)
    return values


def _part(columns: Callable[[int | None], dict[str, Any]], trial: int | None, part: str) -> Any:
    return columns(trial)[part]


def _column_parts(samples: PreparedDataset, trial: int | None) -> dict[str, Any]:
    """Return the arrays of the feature columns in a trial, by the last part of their name."""
    columns, offset = split_columns(samples.features_of(trial))
    return {"data": columns.data, "indices": columns.indices, "indptr": columns.indptr, "offset": offset}


def split_columns(features: Floats | scipy.sparse.csr_array) -> tuple[scipy.sparse.csr_array, Floats]:
    """Return sparse columns, and the offset subtracted from each.

    For a column whose values are all stored, the offset is its mean, since subtracting the mean preserves the precision
    of the variation around it. For other columns it is 0.
    """
    if isinstance(features, np.ndarray):
        offset = features.mean(axis=0)
        return scipy.sparse.csr_array(features - offset), offset
    full = np.bincount(features.indices, minlength=features.shape[1]) == features.shape[0]
    offset = np.where(full, np.asarray(features.mean(axis=0)).ravel(), 0.0)
    shifted = features.copy()
    shifted.data = features.data - offset[features.indices]
    return shifted, offset
