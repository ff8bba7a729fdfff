"""Identify the stored data of a dataset."""

import hashlib
import json

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.task import DATA_VERSION
from kernel_pipeline.tasks.kernels.family import kernel_shifts


def data_identity(plan: DatasetPlan) -> str:
    """Return a digest of everything that determines the arrays and attributes that `create_arrays` writes."""
    combined = sorted({task.method_key for task in plan.of(CombineTask)})
    sizes = (len(plan.stages["tiles"]), plan.tile_size, plan.folds)
    shifts = kernel_shifts(plan.families)
    content = [DATA_VERSION, plan.info.fingerprint, plan.problems, sorted(plan.method_keys), combined, sizes, shifts]
    if plan.repeats > 1:
        content.append(plan.repeats)
    content += [array.shape for array in plan.arrays if array.name.endswith("permuted")]
    if plan.gram and plan.gram.recompute:
        content.append("without Gram matrices")
    content.append([array.key for array in plan.arrays])  # a later version may have other statistics
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]
