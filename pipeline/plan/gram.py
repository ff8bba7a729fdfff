"""The stages of a dataset whose base kernels are Gram matrices: tiles, reduce, weights, combine, fits."""

from collections.abc import Iterator, Sequence
from typing import Any

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import Fit
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan import memory
from kernel_pipeline.plan.methods import PlannedMethod
from kernel_pipeline.plan.stage_plan import StagePlan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.one_stage import EachKernelTask, OneStageTask, kernel_batches
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tiles import TilesTask, batches, tiles_on_and_above_diagonal
from kernel_pipeline.stages.weights import WeightsTask, trial_batches
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.metrics import extra_metrics
from kernel_pipeline.tasks.weights.method import SingleKernelMethod, WeightRule

# Number of two-stage methods for which the batches of tiles are sized.
USUAL_METHODS = 4


def gram_stages(config: Config, dataset: Dataset, info: DatasetInfo, methods: Sequence[PlannedMethod]) -> StagePlan:
    """Plan the tasks of a dataset for its methods."""
    m, p = info.rows, len(info.kernels)
    tile, folds = min(config.storage.tile, m), config.protocol.folds
    tiles = tiles_on_and_above_diagonal(m, tile)
    rules = [(planned.target.problem, planned.method) for planned in methods if isinstance(planned.method, WeightRule)]
    common: dict[str, Any] = {
        "dataset": dataset.name,
        "fingerprint": info.fingerprint,
        "tile": tile,
        "families": dataset.gram_families,
    }
    gram_batches = list(enumerate(batches(tiles, tile, m, p)))
    # The batches do not depend on the methods, so that adding one leaves the tasks of the others as they are.
    combine_batches = list(enumerate(batches(tiles, tile, m, p + folds * USUAL_METHODS)))
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(TilesTask(**common, number=number, tiles=batch) for number, batch in gram_batches),
        "reduce": (ReduceTask(**common, tasks=tuple(dataset.task), folds=folds, batches=len(gram_batches)),),
        "weights": tuple(
            WeightsTask(
                **common,
                problem=problem,
                method=rule,
                trials=trials,
            )
            for problem, rule in rules
            for trials in trial_batches(folds, p)
        ),
        "combine": tuple(
            CombineTask(**common, problem=problem, method=rule, trials=trials, number=number, tiles=batch)
            for number, batch in combine_batches
            for problem, rule in rules
            for trials in trial_batches(folds, p)
        ),
        "fits": tuple(
            task
            for planned in methods
            for trial in range(folds)
            for task in _cell_tasks(config.fit, common, planned, trial, (m, p))
        ),
    }
    sizes = Sizes(
        sample=m,
        feature=info.columns,
        entry=info.entries,
        kernel=p,
        problem=len(dataset.task),
        fold=folds,
        batch=len(gram_batches),
        tile=tile,
    )
    reads_base = len(rules) < len(methods)
    return StagePlan(
        stages=stages,
        memory=memory.gram_projection(sizes, dataset.task, len(rules), reads_base),
        sizes=sizes,
    )


def _cell_tasks(
    fit: Fit, common: dict[str, Any], planned: PlannedMethod, trial: int, size: tuple[int, int]
) -> Iterator[Task]:
    """Yield the tasks that fit one cell: one task, or one per batch of base kernels that are fitted alone."""
    target, method = planned.target, planned.method
    cell: dict[str, Any] = {**common, "target": target, "method": method, "trial": trial}
    path = tuple(fit.path(target.problem, method))
    metrics = tuple(metric.name for metric in extra_metrics(target.problem))
    if isinstance(method, OneStageMethod):
        yield OneStageTask(**cell, values=path, metrics=metrics)
        return
    values = tuple(value for (value,) in path)
    if isinstance(method, SingleKernelMethod):
        samples, kernels = size
        for batch in kernel_batches(kernels, samples):
            yield EachKernelTask(**cell, kernels=batch, values=values)
    else:
        yield FitTask(**cell, values=values, metrics=metrics)
