"""The arrays of a dataset, as its plan alone determines them."""

import hashlib
import json
from collections.abc import Iterator

from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import DATA_VERSION
from kernel_pipeline.store.array_metadata import ArrayPlan
from kernel_pipeline.store.arrays import COMBINED, DATA, GRAM, STATISTICS, WEIGHTS
from kernel_pipeline.store.schema import RANK_ONE_ARRAYS, STATISTICS_ARRAYS
from kernel_pipeline.tasks.kernels.family import kernel_shifts
from kernel_pipeline.tasks.statistics.sums import Sums


def data_identity(plan: DatasetPlan) -> str:
    """Return a digest of everything that determines the arrays and attributes that `create_arrays` writes."""
    combined = sorted({task.cell for task in plan.of(CombineTask)})
    sizes = (len(plan.stages["tiles"]), plan.tile, plan.folds)
    shifts = kernel_shifts(plan.families)
    content = (DATA_VERSION, plan.info.fingerprint, plan.tasks_learned, sorted(plan.cells), combined, sizes, shifts)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def planned_arrays(plan: DatasetPlan) -> list[ArrayPlan]:
    """All arrays of a dataset, as its plan alone says."""
    name, m, p, trials = plan.name, plan.info.rows, len(plan.kernels), plan.folds
    learned = len(plan.tasks_learned)
    arrays = [
        ArrayPlan(GRAM, f"{name}/order", (m,), (m,), "row of the source at each place", "int64"),
        ArrayPlan(GRAM, f"{name}/fold", (m,), (m,), "fold of each place", "int64"),
        ArrayPlan(DATA, f"{name}/targets", (m, learned), (m, learned), "a column of labels a task"),
        *(_rank_one_arrays if plan.rank_one else _gram_arrays)(plan),
    ]
    sizes = {"p": (p,), "pp": (p, p), "2": (2,)}
    for task in plan.tasks_learned:
        for key in RANK_ONE_ARRAYS if plan.rank_one else STATISTICS_ARRAYS:
            shape_name, about = STATISTICS_ARRAYS[key]
            shape = sizes[shape_name]
            # The names stand once: there may be a million of them.
            named = {"kernels": list(plan.kernels)} if key == "trace" else {}
            arrays.append(
                ArrayPlan(STATISTICS, f"{name}/{task}/{key}", (trials, *shape), (1, *shape), about, attributes=named)
            )
    for task, method in plan.cells:
        about = (
            "weights of the trace-one kernels, in the order of the statistics; their absolute values sum to one; "
            "NaN for a failed solve"
        )
        arrays.append(ArrayPlan(WEIGHTS, f"{name}/{task}/{method}", (trials, p), (1, p), about))
        about = "how far the weights are from optimal; 0 for a closed form, NaN for a failed solve"
        arrays.append(ArrayPlan(WEIGHTS, f"{name}/{task}/certificate/{method}", (trials,), (1,), about))
    return arrays


def _gram_arrays(plan: DatasetPlan) -> Iterator[ArrayPlan]:
    name, m, p, trials = plan.name, plan.info.rows, len(plan.kernels), plan.folds
    about = "kernel k of samples order[i], order[j] is gram[k, i, j] + shift[k]; tiles on and above the diagonal"
    kernels = {"kernels": list(plan.kernels), "shift": list(kernel_shifts(plan.families))}
    yield ArrayPlan(GRAM, f"{name}/gram", (p, m, m), (p, plan.tile, plan.tile), about, attributes=kernels)
    features = (m, plan.info.columns)
    yield ArrayPlan(DATA, f"{name}/features", features, features, "features of samples order[i]")
    batches = len(plan.stages["tiles"])
    for key, shape in Sums.shapes(trials, p, len(plan.tasks_learned), m).items():
        about = "sums of one batch of tiles"
        yield ArrayPlan(STATISTICS, f"{name}/sums/{key}", (batches, *shape), (1, *shape), about)
    about = "sum_k mu_k gram[k] / trace_k: K_mu up to a constant; tiles on and above the diagonal"
    for learned, method in dict.fromkeys(task.cell for task in plan.of(CombineTask)):
        yield ArrayPlan(COMBINED, f"{name}/{learned}/{method}", (trials, m, m), (1, plan.tile, plan.tile), about)


def _rank_one_arrays(plan: DatasetPlan) -> Iterator[ArrayPlan]:
    """The columns, as a sparse array by rows, with what was taken off each to keep the digits of what varies."""
    info = plan.info
    lengths = {"data": info.entries, "indices": info.entries, "indptr": info.rows + 1}
    about = "feature columns of samples order[i], compressed by rows"
    for key, length in lengths.items():
        dtype = "float64" if key == "data" else "int64"
        name = f"{plan.name}/columns/{key}"
        # Of a table, entries that become zero are not kept.
        yield ArrayPlan(DATA, name, (length,), (length,), about, dtype, is_bound=key != "indptr")
    columns = (info.columns,)
    yield ArrayPlan(DATA, f"{plan.name}/columns/offset", columns, columns, "taken off each column")
