"""Define tasks whose arrays depend on the samples to which data-dependent steps, such as scaling, are fitted."""

from dataclasses import dataclass, field

import numpy as np

from kernel_pipeline.stages.task import IDENTITY_NAME, Task
from kernel_pipeline.store.arrays import STATISTICS
from kernel_pipeline.store.inputs import Input, trials_of, whole
from kernel_pipeline.store.paths import fitted_group, repeat_group
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.folds import Trial, trials
from kernel_pipeline.tasks.statistics.permutations import Permutations


@dataclass(frozen=True)
class TrainingFolds:
    """The training set of a trial, to which data-dependent steps are fitted."""

    trial: int
    """Number of the trial among those of all repeats."""
    folds: tuple[int, ...]
    repeat: int = 0

    def samples(self, fold: Integers) -> Integers:
        """Return the indices of the training samples, given the fold of each sample in the repeat of the trial."""
        return np.flatnonzero(np.isin(fold, self.folds))


@dataclass(frozen=True, kw_only=True)
class FittedTask(Task):
    """A task that reads or writes arrays which depend on data-dependent steps."""

    fit_on: TrainingFolds | None = field(default=None, metadata={IDENTITY_NAME: "fitted"})
    """Training set to which data-dependent steps are fitted; None for all samples."""
    repeats: int = 1
    """Number of times that the samples are assigned to folds."""
    permutations: Permutations | None = None
    """Permutations of the labels, for the alignments that are expected by chance; None if these are not computed."""

    @property
    def data_group(self) -> str:
        """Return the group of arrays that depend on data-dependent steps: features, columns, Gram matrices and sums."""
        return fitted_group(self.dataset, self.fit_on.trial if self.fit_on else None)

    def sums_groups(self) -> dict[int, str]:
        """Return the groups of the sums of tiles, by repeat: all repeats, or only the repeat of the training set."""
        if self.fit_on is None and self.repeats > 1:
            return {repeat: repeat_group(self.dataset, repeat) for repeat in range(self.repeats)}
        return {self.fit_on.repeat if self.fit_on else 0: self.data_group}

    @property
    def trial_part(self) -> str:
        """Return the suffix of `part` for a task that belongs to one trial; empty if it belongs to all trials."""
        return f"/{self.fit_on.trial}" if self.fit_on else ""


@dataclass(frozen=True, kw_only=True)
class StatisticsTask(FittedTask):
    """A task that computes the statistics of the trials of a repeat, or of the trial that its inputs are fitted to."""

    folds: int
    """Number of trials of a repeat: the number of folds, not counting a fixed test set."""
    fixed_test: bool = False
    """Whether there is one more fold, which is the test set of every trial."""
    repeat: int = 0
    """Number of the repeat; if the inputs are fitted to a trial, that of this trial."""

    @property
    def repeat_part(self) -> str:
        """Return the suffix of `part` for a task that belongs to one trial, or to one of several repeats."""
        return f"/repeat-{self.repeat}" if self.repeats > 1 and self.fit_on is None else self.trial_part

    def numbered_trials(self) -> dict[int, Trial]:
        """Return the trials whose statistics the task computes, by their number among those of all repeats."""
        numbered = dict(enumerate(trials(self.folds, self.fixed_test), start=self.repeat * self.folds))
        return numbered if self.fit_on is None else {self.fit_on.trial: numbered[self.fit_on.trial]}

    def statistics_written(self, name: str) -> Input:
        """Return the part of a statistics array that the task writes: all of it, or its trials."""
        if self.repeats == 1 and self.fit_on is None:
            return whole(STATISTICS, name)
        return trials_of(STATISTICS, name, self.numbered_trials())


def training_folds(folds: int, fixed_test: bool, repeats: int = 1) -> list[TrainingFolds]:
    """Return the training set of each trial of all repeats.

    >>> training_folds(3, fixed_test=False)[0]
    TrainingFolds(trial=0, folds=(2,), repeat=0)
    """
    repeat_trials = trials(folds, fixed_test)
    return [
        TrainingFolds(repeat * folds + number, trial.train, repeat)
        for repeat in range(repeats)
        for number, trial in enumerate(repeat_trials)
    ]
