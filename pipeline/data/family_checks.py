"""Check the kernel families of a dataset on its samples."""

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from kernel_pipeline.data.fitted_features import FittedFeatures
from kernel_pipeline.errors import ConfigError, DataError
from kernel_pipeline.tasks.arrays import Integers
from kernel_pipeline.tasks.folds import trial_name
from kernel_pipeline.tasks.kernels.family import (
    GramFamily,
    Samples,
    UnsuitableFeaturesError,
    check_families,
    family_notes,
)
from kernel_pipeline.tasks.kernels.guard import FamilyError
from kernel_pipeline.tasks.kernels.view import try_plugins
from kernel_pipeline.text import counted

MAX_TRIAL_NOTES = 10
"""Maximum number of notes about single trials."""


def samples_by_trial(fitted: FittedFeatures, training: Sequence[Integers]) -> Iterator[Samples]:
    """Yield the samples as each trial uses them, given the training sets; only once if all trials use the same."""
    if not fitted.by_trial:
        yield Samples(np.asarray(fitted.values))
        return
    for steps, rows in zip(fitted.by_trial, training, strict=True):
        yield Samples(steps.apply(fitted.values), fitted_on=rows)


def check_on_samples(
    families: Sequence[GramFamily],
    samples: Iterable[Samples],
    columns: Sequence[str],
    name: str,
    per_repeat: int | None = None,
) -> list[str]:
    """Try plug-ins on some samples, check that all kernels are defined, and return the notes of all families.

    Parameters
    ----------
    samples
        The samples: once if all trials use the same ones, otherwise those of each trial.
    per_repeat
        Number of trials per repeat; None if there is one repeat.
    """
    notes: list[tuple[str, ...]] = []
    try:
        for used in samples:
            if not notes:
                try_plugins(families, used)
            check_families(families, used, columns)
            notes.append(family_notes(families, used, columns))
    except UnsuitableFeaturesError as error:
        raise DataError(f"dataset {name!r}: {error}") from None
    except FamilyError as error:
        raise ConfigError(f"dataset {name!r}: {error}") from None
    return _merged(notes, per_repeat)


def _merged(notes: Sequence[Sequence[str]], per_repeat: int | None = None) -> list[str]:
    """Return the notes of all trials; those that are not the same in all trials are limited in number.

    >>> _merged([["wide", "gamma = 1"], ["wide", "gamma = 2"]])
    ['wide', 'trial 0: gamma = 1', 'trial 1: gamma = 2']
    """
    everywhere = [note for note in notes[0] if all(note in others for others in notes)]
    others = [
        f"{trial_name(number, per_repeat)}: {note}"
        for number, own in enumerate(notes)
        for note in own
        if note not in everywhere
    ]
    more = [counted(len(others) - MAX_TRIAL_NOTES, "more note", "more notes") + " like these about single trials"]
    return everywhere + others[:MAX_TRIAL_NOTES] + (more if len(others) > MAX_TRIAL_NOTES else [])
