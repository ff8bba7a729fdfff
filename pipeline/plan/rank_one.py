"""The stages of a dataset with rank-one kernels: statistics of the columns, then whole cells."""

from collections.abc import Sequence
from typing import Any

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import Fit
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan import memory
from kernel_pipeline.plan.methods import PlannedMethod
from kernel_pipeline.plan.stage_plan import StagePlan
from kernel_pipeline.stages.rank_one import RankOneFitTask, RankOneOneStageTask, RankOneStatisticsTask
from kernel_pipeline.stages.samples import make_targets
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.metrics import extra_metrics


def rank_one_stages(config: Config, dataset: Dataset, info: DatasetInfo, methods: Sequence[PlannedMethod]) -> StagePlan:
    """Plan the tasks of a dataset for its methods."""
    folds = config.protocol.folds
    common = {"dataset": dataset.name, "fingerprint": info.fingerprint}
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": (),
        "reduce": (RankOneStatisticsTask(**common, targets=make_targets(dataset.task), folds=folds),),
        "weights": (),
        "combine": (),
        "fits": tuple(_cell_task(config.fit, common, planned, trial) for planned in methods for trial in range(folds)),
    }
    sizes = Sizes(
        sample=info.rows,
        feature=info.columns,
        entry=info.entries,
        kernel=len(info.kernels),
        problem=len(dataset.task),
        fold=folds,
        batch=0,
        tile=min(config.storage.tile, info.rows),
    )
    needs_m = any(planned.method.needs_m for planned in methods)
    return StagePlan(
        stages=stages,
        memory=memory.rank_one_projection(sizes, dataset.task, needs_m),
        sizes=sizes,
    )


def _cell_task(fit: Fit, common: dict[str, Any], planned: PlannedMethod, trial: int) -> Task:
    """Return the task of one cell."""
    target, method = planned.target, planned.method
    kind = RankOneOneStageTask if isinstance(method, OneStageMethod) else RankOneFitTask
    cell: dict[str, Any] = {**common, "target": target, "method": method, "trial": trial}
    metrics = tuple(metric.name for metric in extra_metrics(target.problem))
    return kind(**cell, values=tuple(fit.path(target.problem, method)), metrics=metrics)
