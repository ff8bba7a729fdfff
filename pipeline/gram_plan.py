"""The stages of a dataset whose base kernels are Gram matrices: tiles, reduce, weights, combine, fits."""

from typing import Any

from pipeline import memory
from pipeline.config import Config
from pipeline.datasets import Dataset, Fitting, TaskName
from pipeline.methods import EACH_KERNEL, ONE_STAGE, AlignMethod, label
from pipeline.samples import Samples
from pipeline.stages.combine import CombineTask
from pipeline.stages.fits import FitTask
from pipeline.stages.one_stage import EachKernelTask, OneStageTask, kernel_batches
from pipeline.stages.reduce import ReduceTask
from pipeline.stages.tiles import TilesTask, batches, tiles_on_and_above_diagonal
from pipeline.stages.weights import WeightsTask, trial_batches
from pipeline.task import StagePlan, Task


def gram_stages(config: Config, dataset: Dataset, samples: Samples, fitting: Fitting) -> StagePlan:
    """Lay out the tasks; `fitting` are the tasks and methods that go together."""
    (m, d), p = samples.features.shape, len(samples.kernels)
    tile, folds = min(config.storage.tile, m), config.protocol.folds
    tiles = tiles_on_and_above_diagonal(m, tile)
    two_stage = [(task, method) for task, method in fitting if label(method) not in (*ONE_STAGE, EACH_KERNEL)]
    combined = tuple((task, label(method)) for task, method in two_stage)
    common = {"dataset": dataset.name, "fingerprint": samples.fingerprint}
    gram_batches = list(enumerate(batches(tiles, tile, m, p)))
    combine_batches = list(enumerate(batches(tiles, tile, m, p + folds * len(combined)))) if combined else []
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(
            TilesTask(
                **common,
                number=number,
                log2_gammas=tuple(family.log2_gamma for family in dataset.gaussians),
                tile=tile,
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
            CombineTask(**common, number=number, cells=combined, tile=tile, tiles=batch)
            for number, batch in combine_batches
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
        len(tiles) * (p + len(combined) * folds) * tile**2  # chunks at the border are stored whole
        + len(gram_batches) * sums
        + m * (d + len(dataset.task))
    )
    reads_base = any(label(method) in (*ONE_STAGE, EACH_KERNEL) for _, method in fitting)
    return StagePlan(
        stages=stages,
        memory=memory.gram_projection(m, d, p, folds, tile, len(combined), dataset.task, reads_base),
        disk_bytes=floats * memory.FLOAT,
    )


def _cell_tasks(
    config: Config,
    dataset: Dataset,
    common: dict[str, str],
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
