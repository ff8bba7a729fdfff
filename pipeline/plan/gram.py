"""Plan the stages of a dataset with Gram families: tiles, reduce, weights, combine, fits."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from kernel_pipeline.config.datasets import Dataset
from kernel_pipeline.config.fit import Fit
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.arrays import kept_bytes
from kernel_pipeline.plan.fit_arrays import non_solver_bytes
from kernel_pipeline.plan.gram_cells import GramFields, fit_tasks
from kernel_pipeline.plan.gram_storage import choose_storage
from kernel_pipeline.plan.large_fits import FitMemory
from kernel_pipeline.plan.memory import GramMemoryInputs, gram_projection
from kernel_pipeline.plan.methods import PlannedMethod, dataset_targets, max_predictions, single_kernel_problems
from kernel_pipeline.plan.stage_plan import (
    StagePlan,
    StatisticsPart,
    fitted_sets,
    planned_permutations,
    statistics_parts,
    weight_batches,
)
from kernel_pipeline.plan.training_sizes import fitted_samples
from kernel_pipeline.stages.combine import CombineTask
from kernel_pipeline.stages.fitted import TrainingFolds
from kernel_pipeline.stages.precomputed import count_precomputed
from kernel_pipeline.stages.reduce import ReduceTask
from kernel_pipeline.stages.single_kernels import kernels_per_task
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.tile_sources import tiles_on_and_above_diagonal
from kernel_pipeline.stages.tiles import TilesTask, batches
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.kernels.family import GramFamily
from kernel_pipeline.tasks.kernels.view import columns_in_views
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.weights.method import WeightRule

# Number of two-stage methods that is assumed when the size of the batches of tiles is chosen.
ASSUMED_METHODS = 4


def gram_stages(
    config: Config,
    dataset: Dataset,
    info: DatasetInfo,
    families: tuple[GramFamily, ...],
    methods: Sequence[PlannedMethod],
) -> StagePlan:
    """Plan the tasks of a dataset for its methods."""
    sizes, folds, repeats = _sizes(config, dataset, info, families), config.protocol.folds, config.protocol.repeats
    rules = [(planned.target.problem, planned.method) for planned in methods if isinstance(planned.method, WeightRule)]
    fit_memory = _fit_memory(config, dataset, info, sizes, families)
    combined = [(problem, rule) for problem, rule in rules if not fit_memory.is_in_parts(problem, rule)]
    if config.fit.has_final_fit and len(combined) < len(rules):
        raise fit_memory.final_fit_error(dataset.task)
    stored = [(problem, rule.method_id) for problem, rule in combined]
    gram = choose_storage(config.storage, kept_bytes(info, families, sizes, stored))
    shared = GramFields(
        dataset=dataset.name,
        fingerprint=info.fingerprint,
        repeats=repeats,
        tile_size=sizes.tile,
        families=families,
        recompute=gram.recompute,
    )
    fit_on = fitted_sets(info, folds, dataset.fixed_test, repeats)
    permutations = planned_permutations(config)
    blocks = tuple(target.columns for target in dataset_targets(dataset.task, info)) if sizes.permutation else ()
    fits = fit_tasks(config.fit, shared, permutations, methods, fit_on, sizes, fit_memory)
    stages: dict[str, tuple[Task, ...]] = {
        "tiles": tuple(
            TilesTask(
                **vars(shared),
                permutations=permutations,
                fit_on=samples,
                number=n,
                tiles=tiles,
                label_blocks=blocks,
            )
            for samples in dict.fromkeys(fit_on)
            for n, tiles in _batches(sizes, sizes.kernel)
        ),
        "reduce": tuple(
            _reduce_task(shared, permutations, part, dataset, info, sizes, folds)
            for part in statistics_parts(info, folds, dataset.fixed_test, repeats)
        ),
        **_weights_and_combine(shared, permutations, sizes, rules, [] if gram.recompute else combined, fit_on),
        "fits": fits,
    }
    inputs = _memory_inputs(config.fit, dataset.task, methods, sizes, families, gram.recompute, fit_memory, fits)
    return StagePlan(stages=stages, memory=gram_projection(inputs), sizes=sizes, gram=gram)


def _fit_memory(
    config: Config, dataset: Dataset, info: DatasetInfo, sizes: Sizes, families: tuple[GramFamily, ...]
) -> FitMemory:
    """Return the memory of the fits of a dataset."""
    # Based on all problems, so that adding a method does not change the tasks of the others.
    predictions = max(
        len(target.columns) * len(config.fit.path(target.problem)) for target in dataset_targets(dataset.task, info)
    )
    train = fitted_samples(info, config.protocol.folds, config.fit.has_final_fit)
    other_bytes = non_solver_bytes(sizes, predictions, columns_in_views(families))
    return FitMemory(config.fit.memory, train, other_bytes, dataset.name)


def _memory_inputs(
    fit: Fit,
    problems: Sequence[str],
    methods: Sequence[PlannedMethod],
    sizes: Sizes,
    families: tuple[GramFamily, ...],
    recompute: bool,
    fit_memory: FitMemory,
    fits: Sequence[Task],
) -> GramMemoryInputs:
    """Return what the memory of the tasks of a dataset depends on."""
    rules = [planned.method for planned in methods if isinstance(planned.method, WeightRule)]
    singles = single_kernel_problems(methods)
    return GramMemoryInputs(
        sizes=sizes,
        train=fit_memory.train,
        problems=problems,
        predictions=max_predictions(methods, fit),
        rules=len(rules),
        reads_base=any(planned.method.reads_base_kernels for planned in methods),
        singles=bool(singles),
        reads_features=any(planned.method.reads_features for planned in methods),
        any_sign=any(rule.any_sign for rule in rules),
        recompute=recompute,
        view_columns=columns_in_views(families),
        square_problems=[problem for problem in problems if problem in singles or not fit_memory.exceeds(problem)],
        in_parts_bytes=fit_memory.solver_bytes(fits),
    )


def _sizes(config: Config, dataset: Dataset, info: DatasetInfo, families: tuple[GramFamily, ...]) -> Sizes:
    """Return the lengths of the dimensions of a dataset."""
    sizes = Sizes(
        sample=info.rows,
        feature=info.columns,
        entry=info.entries,
        kernel=len(info.kernels),
        label=sum(len(target.columns) for target in dataset_targets(dataset.task, info)),
        fold=config.protocol.folds + dataset.fixed_test,
        batch=0,
        kernel_batch=kernels_per_task(len(info.kernels), info.rows),
        tile=min(config.storage.tile, info.rows),
        fixed_test=dataset.fixed_test,
        ridge=len(config.fit.path("regression")),
        precomputed=count_precomputed(families),
        per_trial=info.per_trial,
        repeat=config.protocol.repeats,
        permutation=config.protocol.permutations,
        problem=len(dataset.task),
    )
    return replace(sizes, batch=len(_batches(sizes, sizes.kernel)))


def _batches(sizes: Sizes, kernels: int) -> list[tuple[int, tuple[tuple[int, int], ...]]]:
    """Return numbered batches of tiles, for tasks that hold this many kernels of a tile."""
    tiles = tiles_on_and_above_diagonal(sizes.sample, sizes.tile)
    repeats = 1 if sizes.per_trial else sizes.repeat  # the repeats whose sums one task computes
    return list(enumerate(batches(tiles, sizes.tile, sizes.sample, kernels, repeats)))


def _reduce_task(
    shared: GramFields,
    permutations: Permutations | None,
    part: StatisticsPart,
    dataset: Dataset,
    info: DatasetInfo,
    sizes: Sizes,
    folds: int,
) -> ReduceTask:
    widths = tuple(len(target.columns) for target in dataset_targets(dataset.task, info))
    return ReduceTask(
        **vars(shared),
        permutations=permutations,
        fixed_test=dataset.fixed_test,
        fit_on=part.fit_on,
        repeat=part.repeat,
        problems=tuple(dataset.task),
        folds=folds,
        batches=sizes.batch,
        widths=widths if max(widths) > 1 else (),
    )


def _weights_and_combine(
    shared: GramFields,
    permutations: Permutations | None,
    sizes: Sizes,
    rules: Sequence[tuple[str, WeightRule]],
    combined: Sequence[tuple[str, WeightRule]],
    fit_on: Sequence[TrainingFolds | None],
) -> dict[str, tuple[Task, ...]]:
    """Return the tasks of two-stage methods up to their combined kernels, by stage.

    Parameters
    ----------
    rules, combined
        Pairs of a problem and a two-stage method: all of them, and those whose combined kernels are stored.
    """

    def batches_of(chosen: Sequence[tuple[str, WeightRule]]) -> list[dict[str, Any]]:
        return [
            vars(shared) | {"fit_on": fit_on[trials[0]], "problem": problem, "method": rule, "trials": trials}
            for problem, rule in chosen
            for trials in weight_batches(sizes)
        ]

    # The batches do not depend on the methods, so that adding a method does not change the tasks of the others.
    together = 1 if sizes.per_trial else len(fit_on) // sizes.repeat
    batches = _batches(sizes, sizes.kernel + together * ASSUMED_METHODS)
    return {
        "weights": tuple(WeightsTask(**batch, permutations=permutations) for batch in batches_of(rules)),
        "combine": tuple(
            CombineTask(**batch, number=n, tiles=tiles) for n, tiles in batches for batch in batches_of(combined)
        ),
    }
