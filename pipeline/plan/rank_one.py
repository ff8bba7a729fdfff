"""The stages of a dataset with rank-one kernels: statistics of the columns, then whole cells."""

from kernel_pipeline.config.datasets import Dataset, Fitting
from kernel_pipeline.config.methods import NEEDS_M, AlignMethod, label
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan import memory
from kernel_pipeline.plan.stage_plan import StagePlan
from kernel_pipeline.stages.rank_one import RankOneCellTask, RankOneStatisticsTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.store.dataset_info import Outline
from kernel_pipeline.tasks.metrics import extra_metrics


def rank_one_stages(config: Config, dataset: Dataset, outline: Outline, fitting: Fitting) -> StagePlan:
    """Lay out the tasks; `fitting` are the tasks and methods that go together."""
    m, p, folds = outline.rows, outline.columns, config.protocol.folds
    common = {"dataset": dataset.name, "fingerprint": outline.fingerprint}
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": (),
        "reduce": (RankOneStatisticsTask(**common, tasks=tuple(dataset.task), folds=folds),),
        "weights": (),
        "combine": (),
        "fits": tuple(
            RankOneCellTask(
                **common,
                task=task,
                task_index=dataset.task.index(task),
                method=label(method),
                trial=trial,
                metrics=tuple(metric.name for metric in extra_metrics(task)),
                q=method.q if isinstance(method, AlignMethod) else None,
                values=tuple(config.fit.path(task, label(method))),
            )
            for task, method in fitting
            for trial in range(folds)
        ),
    }
    entries, learned = outline.entries, len(dataset.task)
    numbers = 2 * entries + m * (learned + 3) + folds * p * (5 * learned + len(fitting))
    needs_m = any(label(method) in NEEDS_M for _, method in fitting)
    return StagePlan(
        stages=stages,
        memory=memory.rank_one_projection(m, entries, p, folds, dataset.task, needs_m),
        disk_bytes=numbers * memory.FLOAT,
    )
