"""Plan the stages of a dataset with a rank-one family: statistics of the columns, then the fits of cells."""

from collections.abc import Iterator, Sequence
from typing import Any

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import Fit
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.memory import rank_one_projection
from kernel_pipeline.plan.methods import PlannedMethod, dataset_targets, predictions, with_shared_fits
from kernel_pipeline.plan.reference_cells import reference_task
from kernel_pipeline.plan.stage_plan import StagePlan, fitted_sets, planned_permutations, statistics_parts
from kernel_pipeline.plan.training_sizes import fitted_samples, training_samples
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.rank_one_kernels import RankOneBestSingleTask, RankOneEachKernelTask, columns_per_task
from kernel_pipeline.stages.single_kernels import kernel_batches
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.learners.reference import ReferenceMethod
from kernel_pipeline.tasks.metrics import evaluated_metrics
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.weights.method import SingleKernelMethod


def rank_one_stages(config: Config, dataset: Dataset, info: DatasetInfo, methods: Sequence[PlannedMethod]) -> StagePlan:
    """Plan the tasks of a dataset for its methods."""
    folds, targets = config.protocol.folds, dataset_targets(dataset.task, info)
    common: dict[str, Any] = {"dataset": dataset.name, "fingerprint": info.fingerprint}
    common |= {"fixed_test": dataset.fixed_test, "repeats": config.protocol.repeats}
    fitted = fitted_sets(info, folds, dataset.fixed_test, config.protocol.repeats)
    train = training_samples(info, folds)
    few_columns = len(info.kernels) < train
    sizes = Sizes(
        sample=info.rows,
        feature=info.columns,
        entry=info.entries,
        kernel=len(info.kernels),
        label=sum(len(target.columns) for target in targets),
        fold=folds + dataset.fixed_test,
        batch=0,
        kernel_batch=columns_per_task(len(info.kernels), info.rows),
        tile=min(config.storage.tile, info.rows),
        fixed_test=dataset.fixed_test,
        per_trial=info.per_trial,
        repeat=config.protocol.repeats,
    )
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": (),
        "reduce": tuple(
            RankOneStatisticsTask(**common, fitted=part.fitted, repeat=part.repeat, targets=targets, folds=folds)
            for part in statistics_parts(info, folds, dataset.fixed_test, config.protocol.repeats)
        ),
        "weights": (),
        "combine": (),
        "fits": tuple(
            task
            for planned in with_shared_fits(methods)
            for trial in range(len(fitted))
            for task in _cell_tasks(
                config.fit,
                common | {"trial": trial, "fitted": fitted[trial], "permutations": _permutations(config, planned)},
                planned,
                sizes,
                few_columns,
            )
        ),
    }
    needs_m = any(planned.method.needs_m for planned in methods)
    return StagePlan(
        stages=stages,
        memory=rank_one_projection(
            sizes,
            fitted_samples(info, folds, config.fit.has_final_fit),
            dataset.task,
            predictions(methods, config.fit),
            needs_m,
        ),
        sizes=sizes,
    )


def _permutations(config: Config, planned: PlannedMethod) -> Permutations | None:
    """Return the permutations of labels for the cells of a method; None if they are not needed."""
    without = isinstance(planned.method, ReferenceMethod | SingleKernelMethod)
    return None if without else planned_permutations(config)


def _cell_tasks(
    fit: Fit, common: dict[str, Any], planned: PlannedMethod, sizes: Sizes, few_columns: bool
) -> Iterator[Task]:
    """Yield the tasks that fit one cell: one task, or one per batch of columns that are fitted separately."""
    target, method = planned.target, planned.method
    if isinstance(method, ReferenceMethod):
        yield reference_task(fit, common, target, method, rank_one=True)
        return
    cell: dict[str, Any] = {**common, "target": target, "method": method, "metric": fit.metric_name(target.problem)}
    final: dict[str, Any] = {"refit": fit.has_final_fit}
    metrics = tuple(metric.name for metric in evaluated_metrics(target.problem, len(target.columns)))
    path, class_weight = tuple(fit.path(target.problem, method)), fit.class_weights(target.problem)
    if isinstance(method, OneStageMethod):
        yield RankOneOneStageTask(**cell, values=path, metrics=metrics, few_columns=few_columns, **final)
    elif not isinstance(method, SingleKernelMethod):
        cell |= {"values": path, "class_weight": class_weight}
        yield RankOneFitTask(**cell, metrics=metrics, few_columns=few_columns, **final)
    else:
        cell |= {"values": tuple(value for (value,) in path), "class_weight": class_weight}
        if method.has_rows:
            yield RankOneBestSingleTask(**cell, metrics=metrics, n_kernels=sizes.kernel, **final)
            return
        for number, batch in enumerate(kernel_batches(sizes.kernel, sizes.kernel_batch)):
            yield RankOneEachKernelTask(**cell, number=number, first=batch.start, count=len(batch))
