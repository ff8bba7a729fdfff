"""Plan the cells of reference methods, for which Gram families and rank-one families have the same task."""

from typing import Any

from kernel_pipeline.plan.cells import PlannedCell
from kernel_pipeline.stages.references import ReferenceTask
from kernel_pipeline.tasks.learners.reference import ReferenceMethod


def reference_task(method: ReferenceMethod, cell: PlannedCell[Any], rank_one: bool = False) -> ReferenceTask:
    """Return the task of one cell of a reference method.

    Parameters
    ----------
    rank_one
        Whether the features are stored as the sparse columns of a rank-one family.
    """
    return ReferenceTask(
        dataset=cell.shared.dataset,
        fingerprint=cell.shared.fingerprint,
        repeats=cell.shared.repeats,
        **cell.own_fields(method),
        **cell.evaluation_fields,
        values=tuple(value for values in cell.path(method) for value in values),
        class_weight=cell.fit.class_weights(cell.target.problem) if method.is_regularised else None,
        rank_one=rank_one and method.reads_features,
    )
