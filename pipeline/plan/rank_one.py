"""Plan the stages of a dataset with a rank-one family: statistics of the columns, then the fits of cells.

A kind of method registers the tasks of its cells with `rank_one_tasks`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.cells import DatasetFields, PlannedCell
from kernel_pipeline.plan.memory import rank_one_projection
from kernel_pipeline.plan.methods import PlannedMethod, dataset_targets, max_predictions, with_shared_fits
from kernel_pipeline.plan.reference_cells import reference_task
from kernel_pipeline.plan.stage_plan import StagePlan, fitted_sets, planned_permutations, statistics_parts
from kernel_pipeline.plan.training_sizes import fitted_samples, training_samples
from kernel_pipeline.stages.fitted import TrainingFolds
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.rank_one_kernels import RankOneBestSingleTask, RankOneEachKernelTask, columns_per_task
from kernel_pipeline.stages.single_kernels import kernel_batches
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.learners.reference import ReferenceMethod
from kernel_pipeline.tasks.weights.method import Method, SingleKernelMethod, WeightRule


@dataclass(frozen=True, kw_only=True)
class RankOneCell(PlannedCell[DatasetFields]):
    """A cell of a dataset with a rank-one family."""

    few_columns: bool
    """Whether there are fewer columns than training samples."""


def rank_one_stages(config: Config, dataset: Dataset, info: DatasetInfo, methods: Sequence[PlannedMethod]) -> StagePlan:
    """Plan the tasks of a dataset for its methods."""
    folds, targets = config.protocol.folds, dataset_targets(dataset.task, info)
    shared = DatasetFields(dataset=dataset.name, fingerprint=info.fingerprint, repeats=config.protocol.repeats)
    fit_on = fitted_sets(info, folds, dataset.fixed_test, config.protocol.repeats)
    few_columns = len(info.kernels) < training_samples(info, folds)
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
            RankOneStatisticsTask(
                **vars(shared), **vars(part), fixed_test=sizes.fixed_test, targets=targets, folds=folds
            )
            for part in statistics_parts(info, folds, dataset.fixed_test, config.protocol.repeats)
        ),
        "weights": (),
        "combine": (),
        "fits": tuple(_fit_tasks(config, shared, methods, fit_on, sizes, few_columns)),
    }
    needs_m = any(planned.method.needs_m for planned in methods)
    return StagePlan(
        stages=stages,
        memory=rank_one_projection(
            sizes,
            fitted_samples(info, folds, config.fit.has_final_fit),
            dataset.task,
            max_predictions(methods, config.fit),
            needs_m,
        ),
        sizes=sizes,
    )


def _fit_tasks(
    config: Config,
    shared: DatasetFields,
    methods: Sequence[PlannedMethod],
    fit_on: Sequence[TrainingFolds | None],
    sizes: Sizes,
    few_columns: bool,
) -> Iterator[Task]:
    """Yield the tasks that fit all cells, ordered by method and trial."""
    for planned in with_shared_fits(methods):
        for trial, training in enumerate(fit_on):
            cell = RankOneCell(
                shared=shared,
                trial=trial,
                fit_on=training,
                fixed_test=sizes.fixed_test,
                fit=config.fit,
                target=planned.target,
                permutations=planned_permutations(config),
                sizes=sizes,
                few_columns=few_columns,
            )
            yield from rank_one_tasks(planned.method, cell)


@singledispatch
def rank_one_tasks(method: Method, cell: RankOneCell) -> Iterator[Task]:
    """Yield the tasks that fit one cell: one task, or one per batch of columns that are fitted separately."""
    raise NotImplementedError(f"no tasks are registered for methods like {method.name!r}")


@rank_one_tasks.register
def _(method: ReferenceMethod, cell: RankOneCell) -> Iterator[Task]:
    yield reference_task(method, cell, rank_one=True)


@rank_one_tasks.register
def _(method: OneStageMethod, cell: RankOneCell) -> Iterator[Task]:
    yield RankOneOneStageTask(
        **cell.fields(method),
        **cell.evaluation_fields,
        values=cell.path(method),
        permutations=cell.permutations,
        few_columns=cell.few_columns,
    )


@rank_one_tasks.register
def _(method: SingleKernelMethod, cell: RankOneCell) -> Iterator[Task]:
    fields = cell.kernel_fields(method)
    if method.has_rows:
        yield RankOneBestSingleTask(**fields, **cell.evaluation_fields, n_kernels=cell.sizes.kernel)
        return
    for number, batch in enumerate(kernel_batches(cell.sizes.kernel, cell.sizes.kernel_batch)):
        yield RankOneEachKernelTask(**fields, number=number, first=batch.start, count=len(batch))


@rank_one_tasks.register
def _(method: WeightRule, cell: RankOneCell) -> Iterator[Task]:
    yield RankOneFitTask(
        **cell.kernel_fields(method) | {"values": cell.path(method)},
        **cell.evaluation_fields,
        permutations=cell.permutations,
        few_columns=cell.few_columns,
    )
