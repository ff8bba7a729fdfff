"""Plan the tasks that fit the cells of a dataset with Gram families."""

from collections.abc import Iterator, Sequence
from typing import Any

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.plan.large_fits import FitMemory
from kernel_pipeline.plan.methods import PlannedMethod, with_shared_fits
from kernel_pipeline.plan.reference_cells import reference_task
from kernel_pipeline.plan.stage_plan import weight_batches
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.fitted import TrainingFolds
from kernel_pipeline.stages.one_stage import OneStageTask
from kernel_pipeline.stages.panel_fits import LargeRidgesTask, PanelFitTask
from kernel_pipeline.stages.row_fits import RowFitTask
from kernel_pipeline.stages.single_kernels import BestSingleTask, EachKernelTask, kernel_batches
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.learners.reference import ReferenceMethod
from kernel_pipeline.tasks.metrics import evaluated_metrics
from kernel_pipeline.tasks.weights.method import Method, SingleKernelMethod, WeightRule


def fit_tasks(
    fit: Fit,
    common: dict[str, Any],
    permuted: dict[str, Any],
    methods: Sequence[PlannedMethod],
    fitted: Sequence[TrainingFolds | None],
    sizes: Sizes,
    recompute: bool,
    limit: FitMemory,
) -> tuple[Task, ...]:
    """Return the tasks that fit all cells, by method and trial."""
    return tuple(
        task
        for planned in with_shared_fits(methods)
        for trial, training in enumerate(fitted)
        for task in _cell_tasks(
            fit,
            common | {"trial": trial, "fitted": training} | (permuted if _reads_permuted(planned.method) else {}),
            planned,
            sizes,
            _combined_trials(sizes, trial) if recompute else (),
            limit,
        )
    )


def _cell_tasks(
    fit: Fit,
    common: dict[str, Any],
    planned: PlannedMethod,
    sizes: Sizes,
    combined_trials: tuple[int, ...],
    limit: FitMemory,
) -> Iterator[Task]:
    """Yield the tasks that fit one cell: a single task, or one per batch of base kernels that are fitted separately."""
    target, method = planned.target, planned.method
    cell: dict[str, Any] = {**common, "target": target, "method": method}
    path = tuple(fit.path(target.problem, method))
    cell["metric"] = fit.metric_name(target.problem)
    metrics = tuple(metric.name for metric in evaluated_metrics(target.problem, len(target.columns)))
    if isinstance(method, ReferenceMethod):
        yield reference_task(fit, common, target, method)
        return
    if isinstance(method, OneStageMethod):
        yield OneStageTask(**cell, values=path, metrics=metrics, refit=fit.has_final_fit)
        return
    values = tuple(value for (value,) in path)
    cell |= {"values": values, "class_weight": fit.class_weights(target.problem)}
    if isinstance(method, SingleKernelMethod) and method.has_rows:
        yield BestSingleTask(**cell, metrics=metrics, refit=fit.has_final_fit)
    elif isinstance(method, SingleKernelMethod):
        for number, batch in enumerate(kernel_batches(sizes.kernel, sizes.kernel_batch)):
            yield EachKernelTask(**cell, number=number, first=batch.start, count=len(batch))
    elif not limit.is_in_parts(target.problem, method):
        yield FitTask(**cell, metrics=metrics, trials=combined_trials, refit=fit.has_final_fit)
    elif target.problem == "classification":
        yield RowFitTask(**cell, metrics=metrics, memory=limit.rows())
    else:
        panels = limit.panels(common["tile_size"], len(values) * len(target.columns))
        yield LargeRidgesTask(**cell | {"metric": ""}, memory=panels)  # solutions need no metric
        yield PanelFitTask(**cell, metrics=metrics, memory=panels)


def _combined_trials(sizes: Sizes, trial: int) -> tuple[int, ...]:
    """Return the trials whose weights are determined together with those of a trial."""
    return next(trials for trials in weight_batches(sizes) if trial in trials)


def _reads_permuted(method: Method) -> bool:
    """Return whether the tasks that fit a method, not those for its weights, use the permutations of the labels."""
    return isinstance(method, OneStageMethod) or (isinstance(method, WeightRule) and method.any_sign)
