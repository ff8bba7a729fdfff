"""The arrays that a run starts with."""

import hashlib
import json
from typing import Any

import numpy as np
import scipy.sparse

from pipeline.plan import DatasetPlan
from pipeline.samples import Samples
from pipeline.stages.combine import CombineTask
from pipeline.store import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS, RunStore
from pipeline.task import DATA_VERSION
from tasks.arrays import Floats
from tasks.sums import Sums

# name: (shape behind the trial, what it is); p kernels, scaled to trace one on the training set
STATISTICS_ARRAYS = {
    "M": ("pp", "<K_k, K_l> of the centered kernels, training set"),
    "a": ("p", "<K_k, y y'> of the centered kernels, training set"),
    "trace": ("p", "trace of the centered kernels before scaling, training set; 0 for a constant kernel"),
    "M_test": ("pp", "<K_k, K_l> of the same kernels, centered on the test fold"),
    "a_test": ("p", "<K_k, y y'> of the same kernels, centered on the test fold"),
    "label_norms": ("2", "yc . yc of the centered labels, training set and test fold"),
    "alignment": ("p", "centered alignment of each kernel, training set"),
    "alignment_test": ("p", "centered alignment of each kernel, test fold"),
    "uncentered": ("p", "alignment of each kernel without centering, training set"),
    "unnormalised": ("p", "unnormalised centered alignment of each kernel, training set"),
    "alignment_bound": ("p", "how far the alignment may be from that of the distribution, with probability 0.95"),
}
# What rank-one kernels have of them: M is left out, being the squares of the columns' own products.
WITHOUT_M = tuple(name for name in STATISTICS_ARRAYS if name not in ("M", "M_test", "a_test"))


def data_identity(plan: DatasetPlan) -> str:
    """A digest of all that decides what `create_arrays` leaves."""
    combined = sorted({task.cell for task in plan.of(CombineTask)})
    sizes = (len(plan.stages["tiles"]), plan.tile, plan.folds)
    content = (DATA_VERSION, plan.outline.fingerprint, plan.tasks_learned, sorted(plan.cells), combined, sizes)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def create_arrays(store: RunStore, plan: DatasetPlan, samples: Samples) -> dict[str, str]:
    """Store the data of a dataset and describe the arrays that its tasks fill; chunks that are there stay.

    Returns
    -------
    The digests of all that is then there, by key.
    """
    name, m, p, trials = plan.name, plan.outline.rows, len(plan.kernels), plan.folds
    digests: dict[str, str] = {}
    for key, values, about in (
        ("order", samples.order, "row of the source at each place"),
        ("fold", samples.fold, "fold of each place"),
    ):
        digests |= store.create(GRAM, f"{name}/{key}", (m,), (m,), about, dtype="int64")
        digests |= store.write(GRAM, f"{name}/{key}", values)
    targets = np.column_stack([samples.targets[task] for task in plan.tasks_learned])
    digests |= _keep(store, f"{name}/targets", targets, "a column of labels a task")
    digests |= (_rank_one_arrays if plan.rank_one else _gram_arrays)(store, plan, samples)
    sizes = {"p": (p,), "pp": (p, p), "2": (2,)}
    kept = WITHOUT_M if plan.rank_one else tuple(STATISTICS_ARRAYS)
    for task in plan.tasks_learned:
        for key in kept:
            shape_name, about = STATISTICS_ARRAYS[key]
            shape = sizes[shape_name]
            # The names stand once: there may be a million of them.
            named = {"kernels": list(plan.kernels)} if key == "trace" else None
            digests |= store.create(
                STATISTICS, f"{name}/{task}/{key}", (trials, *shape), (1, *shape), about, attributes=named
            )
    for task, method in plan.cells:
        about = "weights of the trace-one kernels, in the order of the statistics; their absolute values sum to one"
        digests |= store.create(WEIGHTS, f"{name}/{task}/{method}", (trials, p), (1, p), about)
        about = "how far the weights are from optimal; 0 for a closed form"
        digests |= store.create(WEIGHTS, f"{name}/{task}/certificate/{method}", (trials,), (1,), about)
    return digests


def _gram_arrays(store: RunStore, plan: DatasetPlan, samples: Samples) -> dict[str, str]:
    name, m, p, trials = plan.name, plan.outline.rows, len(plan.kernels), plan.folds
    about = "kernel k of samples order[i], order[j]; tiles on and above the diagonal"
    digests = store.create(
        GRAM,
        f"{name}/gram",
        (p, m, m),
        (p, plan.tile, plan.tile),
        about,
        attributes={"kernels": list(plan.kernels)},
    )
    digests |= _keep(store, f"{name}/features", np.asarray(samples.features), "features of samples order[i]")
    batches, tasks = len(plan.stages["tiles"]), len(plan.tasks_learned)
    for key, values in Sums.zeros(trials, p, tasks, m).arrays().items():
        shape = values.shape
        digests |= store.create(
            STATISTICS, f"{name}/sums/{key}", (batches, *shape), (1, *shape), "sums of one batch of tiles"
        )
    about = "K_mu of samples order[i], order[j]; tiles on and above the diagonal"
    for learned, method in dict.fromkeys(task.cell for task in plan.of(CombineTask)):
        digests |= store.create(
            COMBINED, f"{name}/{learned}/{method}", (trials, m, m), (1, plan.tile, plan.tile), about
        )
    return digests


def _rank_one_arrays(store: RunStore, plan: DatasetPlan, samples: Samples) -> dict[str, str]:
    """The columns, as a sparse array by rows, with what was taken off each to keep the digits of what varies."""
    columns, offset = split_columns(samples.features)
    parts = {"data": columns.data, "indices": columns.indices, "indptr": columns.indptr, "offset": offset}
    digests: dict[str, str] = {}
    for key, values in parts.items():
        about = (
            "feature columns of samples order[i], compressed by rows" if key != "offset" else "taken off each column"
        )
        digests |= _keep(store, f"{plan.name}/columns/{key}", values, about)
    return digests


def split_columns(features: Floats | scipy.sparse.csr_array) -> tuple[scipy.sparse.csr_array, Floats]:
    """Sparse columns, and what was taken off each, to keep the digits of what varies: the mean of a full column."""
    if isinstance(features, np.ndarray):
        offset = features.mean(axis=0)
        return scipy.sparse.csr_array(features - offset), offset
    full = np.bincount(features.indices, minlength=features.shape[1]) == features.shape[0]
    offset = np.where(full, np.asarray(features.mean(axis=0)).ravel(), 0.0)
    shifted = features.copy()
    shifted.data = features.data - offset[features.indices]
    return shifted, offset


def _keep(store: RunStore, name: str, values: Any, about: str) -> dict[str, str]:
    dtype = "float64" if values.dtype.kind == "f" else "int64"
    described = store.create(DATA, name, values.shape, values.shape, about, dtype=dtype)
    return described | store.write(DATA, name, values)
