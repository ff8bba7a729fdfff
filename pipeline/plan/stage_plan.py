"""Define the result of planning the stages of one dataset."""

from dataclasses import dataclass

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.plan.gram_storage import GramStorage
from kernel_pipeline.stages.fitted import TrainingFolds, training_folds
from kernel_pipeline.stages.task import Task
from kernel_pipeline.stages.weights import trial_batches
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.statistics.permutations import Permutations


@dataclass(frozen=True)
class StagePlan:
    """The tasks of one dataset by stage, their projected memory and the sizes of their arrays."""

    stages: dict[str, tuple[Task, ...]]
    memory: dict[str, int]
    """Projected peak bytes of a worker process, by stage."""
    sizes: Sizes
    """Lengths of the dimensions of the arrays."""
    gram: GramStorage | None = None
    """What is stored of the Gram matrices; None for a rank-one family, which has none."""


@dataclass(frozen=True)
class StatisticsPart:
    """What distinguishes a statistics task from the others of its dataset."""

    repeat: int
    fit_on: TrainingFolds | None = None
    """Training set to which data-dependent steps are fitted; None for all samples."""


def fitted_sets(info: DatasetInfo, folds: int, fixed_test: bool, repeats: int = 1) -> list[TrainingFolds | None]:
    """Return, for each trial, the training set that data-dependent steps are fitted to; None for all samples."""
    return [*training_folds(folds, fixed_test, repeats)] if info.per_trial else [None] * (repeats * folds)


def statistics_parts(info: DatasetInfo, folds: int, fixed_test: bool, repeats: int = 1) -> list[StatisticsPart]:
    """Return what distinguishes the statistics tasks of a dataset."""
    if info.per_trial:
        return [StatisticsPart(fit_on.repeat, fit_on) for fit_on in training_folds(folds, fixed_test, repeats)]
    return [StatisticsPart(repeat) for repeat in range(repeats)]


def planned_permutations(config: Config) -> Permutations | None:
    """Return the permutations of labels that a config requests."""
    count = config.protocol.permutations
    return Permutations(count, config.seed) if count else None


def weight_batches(sizes: Sizes) -> list[tuple[int, ...]]:
    """Return batches of trials whose weights are determined together."""
    return trial_batches(sizes.length("trial"), sizes.kernel, sizes.per_trial, sizes.repeat)
