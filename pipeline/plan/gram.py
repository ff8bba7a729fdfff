"""The stages of a dataset whose base kernels are Gram matrices: tiles, reduce, weights, combine, fits."""

from typing import Any

from kernel_pipeline.config.datasets import Dataset, Fitting, TaskName
from kernel_pipeline.config.methods import EACH_KERNEL, ONE_STAGE, AlignMethod, label
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan import memory
from kernel_pipeline.plan.stage_plan import StagePlan
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fits import FitTask
from kernel_pipeline.stages.one_stage import EachKernelTask, OneStageTask, kernel_batches
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tiles import TilesTask, batches, tiles_on_and_above_diagonal
from kernel_pipeline.stages.weights import WeightsTask, trial_batches
from kernel_pipeline.store.dataset_info import Outline

# Two-stage methods that a tile is combined for at once; more make a longer errand.
USUAL_METHODS = 4


def gram_stages(config: Config, dataset: Dataset, outline: Outline, fitting: Fitting) -> StagePlan:
    """Lay out the tasks; `fitting` are the tasks and methods that go together."""
    m, d, p = outline.rows, outline.columns, len(outline.kernels)
    tile, folds = min(config.storage.tile, m), config.protocol.folds
    tiles = tiles_on_and_above_diagonal(m, tile)
    two_stage = [(task, method) for task, method in fitting if label(method) not in (*ONE_STAGE, EACH_KERNEL)]
    common: dict[str, Any] = {
        "dataset": dataset.name,
        "fingerprint": outline.fingerprint,
        "tile": tile,
        "families": dataset.gram_families,
    }
    gram_batches = list(enumerate(batches(tiles, tile, m, p)))
    # The same batches for any methods, so that one more leaves the others as they are.
    combine_batches = list(enumerate(batches(tiles, tile, m, p + folds * USUAL_METHODS)))
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(
            TilesTask(
                **common,
                number=number,
                tiles=batch,
            )
            for number, batch in gram_batches
        ),
        "reduce": (ReduceTask(**common, tasks=tuple(dataset.task), folds=folds, batches=len(gram_batches)),),
        "weights": tuple(
            WeightsTask(
                **common,
                task=task,
                method=label(method),
                q=method.q if isinstance(method, AlignMethod) else None,
                trials=batch,
            )
            for task, method in two_stage
            for batch in trial_batches(folds, p)
        ),
        "combine": tuple(
            CombineTask(**common, task=task, method=label(method), number=number, tiles=batch)
            for number, batch in combine_batches
            for task, method in two_stage
        ),
        "fits": tuple(
            task
            for learned, method in fitting
            for trial in range(folds)
            for task in _cell_tasks(config, dataset, common, learned, label(method), trial, (m, p))
        ),
    }
    sums = memory.sum_floats(m, p, folds, len(dataset.task))
    floats = (
        len(tiles) * (p + len(two_stage) * folds) * tile**2  # chunks at the border are stored whole
        + len(gram_batches) * sums
        + m * (d + len(dataset.task))
    )
    reads_base = any(label(method) in (*ONE_STAGE, EACH_KERNEL) for _, method in fitting)
    return StagePlan(
        stages=stages,
        memory=memory.gram_projection(m, d, p, folds, tile, dataset.task, reads_base),
        disk_bytes=floats * memory.FLOAT,
    )


def _cell_tasks(
    config: Config,
    dataset: Dataset,
    common: dict[str, Any],
    task: TaskName,
    method: str,
    trial: int,
    size: tuple[int, int],
) -> list[Task]:
    """What fits one cell, or for `each-kernel` the base kernels in batches."""
    cell: dict[str, Any] = {
        **common,
        "task": task,
        "task_index": dataset.task.index(task),
        "method": method,
        "trial": trial,
    }
    path = tuple(config.fit.path(task, method))
    if method in ONE_STAGE:
        return [OneStageTask(**cell, values=path)]
    values = tuple(value for (value,) in path)
    if method == EACH_KERNEL:
        samples, kernels = size
        return [EachKernelTask(**cell, kernels=batch, values=values) for batch in kernel_batches(kernels, samples)]
    return [FitTask(**cell, values=values)]
