"""Plan the tasks that fit the cells of a dataset with Gram families; a kind of method registers with `gram_tasks`."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import singledispatch

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.plan.cells import DatasetFields, PlannedCell
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
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.learners.reference import ReferenceMethod
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.weights.method import Method, SingleKernelMethod, WeightRule


@dataclass(frozen=True, kw_only=True)
class GramFields(DatasetFields):
    """Fields that all tasks of a dataset with Gram families share."""

    tile_size: int
    families: tuple[GramFamily, ...]
    recompute: bool


@dataclass(frozen=True, kw_only=True)
class GramCell(PlannedCell[GramFields]):
    """A cell of a dataset with Gram families."""

    combined_trials: tuple[int, ...]
    """Trials, including this one, whose kernels are combined together; empty if combined kernels are stored."""
    fit_memory: FitMemory


def fit_tasks(
    fit: Fit,
    shared: GramFields,
    permutations: Permutations | None,
    methods: Sequence[PlannedMethod],
    fit_on: Sequence[TrainingFolds | None],
    sizes: Sizes,
    fit_memory: FitMemory,
) -> tuple[Task, ...]:
    """Return the tasks that fit all cells, ordered by method and trial."""
    tasks: list[Task] = []
    for planned in with_shared_fits(methods):
        for trial, training in enumerate(fit_on):
            cell = GramCell(
                fit=fit,
                target=planned.target,
                shared=shared,
                trial=trial,
                fit_on=training,
                fixed_test=sizes.fixed_test,
                permutations=permutations,
                sizes=sizes,
                combined_trials=_combined_trials(sizes, trial) if shared.recompute else (),
                fit_memory=fit_memory,
            )
            tasks += gram_tasks(planned.method, cell)
    return tuple(tasks)


@singledispatch
def gram_tasks(method: Method, cell: GramCell) -> Iterator[Task]:
    """Yield the tasks that fit one cell: one task, two for a ridge path in panels, or one per batch of base kernels."""
    raise NotImplementedError(f"no tasks are registered for methods like {method.name!r}")


@gram_tasks.register
def _(method: ReferenceMethod, cell: GramCell) -> Iterator[Task]:
    yield reference_task(method, cell)


@gram_tasks.register
def _(method: OneStageMethod, cell: GramCell) -> Iterator[Task]:
    yield OneStageTask(
        **cell.fields(method),
        **cell.evaluation_fields,
        values=cell.path(method),
        permutations=cell.permutations,
    )


@gram_tasks.register
def _(method: SingleKernelMethod, cell: GramCell) -> Iterator[Task]:
    fields = cell.kernel_fields(method)
    if method.has_rows:
        yield BestSingleTask(**fields, **cell.evaluation_fields)
        return
    for number, batch in enumerate(kernel_batches(cell.sizes.kernel, cell.sizes.kernel_batch)):
        yield EachKernelTask(**fields, number=number, first=batch.start, count=len(batch))


@gram_tasks.register
def _(method: WeightRule, cell: GramCell) -> Iterator[Task]:
    # The fits of kernels with negative weights compute the alignments of their positive part.
    fields = cell.kernel_fields(method) | {"permutations": cell.permutations if method.any_sign else None}
    if not cell.fit_memory.is_in_parts(cell.target.problem, method):
        yield FitTask(**fields, **cell.evaluation_fields, trials=cell.combined_trials)
    elif cell.target.problem == "classification":
        yield RowFitTask(**fields, metrics=cell.metrics, memory=cell.fit_memory.row_memory())
    else:
        systems = len(fields["values"]) * len(cell.target.columns)
        panels = cell.fit_memory.panel_memory(cell.shared.tile_size, systems)
        yield LargeRidgesTask(**fields | {"metric": ""}, memory=panels)  # solutions need no metric
        yield PanelFitTask(**fields, metrics=cell.metrics, memory=panels)


def _combined_trials(sizes: Sizes, trial: int) -> tuple[int, ...]:
    """Return the trials whose weights are determined together with those of a trial."""
    return next(trials for trials in weight_batches(sizes) if trial in trials)
