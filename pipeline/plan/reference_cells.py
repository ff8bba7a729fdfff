"""Plan the cells of reference methods, for which Gram families and rank-one families have the same task."""

from typing import Any

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.stages.references import ReferenceTask
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.tasks.learners.reference import ReferenceMethod
from kernel_pipeline.tasks.metrics import evaluated_metrics

SHARED = ("dataset", "fingerprint", "fixed_test", "repeats", "fitted", "trial")


def reference_task(
    fit: Fit, common: dict[str, Any], target: Target, method: ReferenceMethod, rank_one: bool = False
) -> ReferenceTask:
    """Return the task of one cell of a reference method.

    Parameters
    ----------
    common
        Fields that all tasks of the cell's dataset and trial share.
    rank_one
        Whether the features are stored as the sparse columns of a rank-one family.
    """
    return ReferenceTask(
        **{key: common[key] for key in SHARED},
        target=target,
        method=method,
        values=tuple(value for values in fit.path(target.problem, method) for value in values),
        metrics=tuple(metric.name for metric in evaluated_metrics(target.problem, len(target.columns))),
        metric=fit.metric_name(target.problem),
        class_weight=fit.class_weights(target.problem) if method.is_regularised else None,
        refit=fit.has_final_fit,
        rank_one=rank_one and method.reads_features,
    )
