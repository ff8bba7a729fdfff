"""The identity of the stored data of a dataset."""

import hashlib
import json

from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import DATA_VERSION
from kernel_pipeline.tasks.kernels.family import kernel_shifts


def data_identity(plan: DatasetPlan) -> str:
    """Return a digest of everything that determines the arrays and attributes that `create_arrays` writes."""
    combined = sorted({task.cell for task in plan.of(CombineTask)})
    sizes = (len(plan.stages["tiles"]), plan.tile, plan.folds)
    shifts = kernel_shifts(plan.families)
    content = (DATA_VERSION, plan.info.fingerprint, plan.tasks_learned, sorted(plan.cells), combined, sizes, shifts)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
