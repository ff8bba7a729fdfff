"""Fit imputation, scaling and vocabularies, to all samples or to the training set of each trial, and apply them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse

from kernel_pipeline.config.datasets import DatasetBase, ImputationStrategy
from kernel_pipeline.config.views import used_columns
from kernel_pipeline.data.documents import few_words_note, fit_nonempty_vocabulary
from kernel_pipeline.data.encoding import MAX_MAGNITUDE
from kernel_pipeline.data.imputation import Imputation, imputation_note, incomplete_columns
from kernel_pipeline.data.new_rows import RowEncoder
from kernel_pipeline.data.raw_table import RawTable
from kernel_pipeline.data.scaling import Scaling
from kernel_pipeline.data.vocabulary import place_vocabularies
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trial_name

Features = Floats | scipy.sparse.csr_array


class FittedSteps(Protocol):
    """Steps that are fitted to some samples."""

    def apply(self, features: Any) -> Any:
        """Return the features of any samples after these steps."""


@dataclass(frozen=True)
class TableSteps:
    """Steps of numeric columns: imputation, then scaling."""

    imputation: Imputation | None
    scaling: Scaling | None

    def apply(self, features: Floats) -> Floats:
        """Return the features of any samples after these steps."""
        for step in (self.imputation, self.scaling):
            features = features if step is None else step.apply(features)
        return features


@dataclass(frozen=True)
class FittedFeatures:
    """The features of a dataset in the order of its folds."""

    values: Features
    """Features before the steps in `by_trial`; after all steps if these are fitted to all samples."""
    names: list[str]
    """Names of the columns."""
    fitted_steps: tuple[str, ...] = ()
    """The settings whose steps are fitted to data, as in the config, such as "scale = 'standard'"."""
    by_trial: tuple[FittedSteps, ...] = ()
    """Steps fitted to the training set of each trial; empty if steps are fitted to all samples or are not needed."""
    notes: tuple[str, ...] = ()
    encoder: RowEncoder | None = None
    """Encoder of new rows as features before all steps."""
    steps: FittedSteps | None = None
    """Steps that are fitted to all samples, and are already applied to `values`; None if there are none."""


def fit_features(
    table: RawTable,
    dataset: DatasetBase,
    chosen: Integers,
    permutation: Integers,
    training: Sequence[Integers],
    per_repeat: int | None = None,
) -> FittedFeatures:
    """Fit all steps of a dataset.

    Parameters
    ----------
    table
        The usable rows of the source.
    chosen
        Rows of the table that are used.
    permutation
        `permutation[i]` is the index in `chosen` of the sample at position i of the order of the folds.
    training
        Positions of the training samples of each trial.
    per_repeat
        Number of trials per repeat; None if there is one repeat.

    Raises
    ------
    DataError
        If a step cannot be fitted, for example because a column has no value or no word is frequent enough.
    """
    if table.vocabulary is not None:
        return _fit_trial_vocabularies(table, dataset, chosen[permutation], training)
    features, steps = table.features[chosen], tuple(dataset.fitted_steps())
    notes: tuple[str, ...] = ()
    if not isinstance(features, np.ndarray):
        notes = _unaffected_note(dataset, steps)
        return FittedFeatures(features[permutation], table.names, steps, notes=notes, encoder=table.encoder)
    incomplete = incomplete_columns(features)
    if incomplete and dataset.imputing:
        steps = (f"missing = {dataset.imputing!r}", *steps)
        notes = _imputation_notes(features, table, dataset, dataset.imputing)
    if dataset.fit_on == "train" and steps:
        features = features[permutation]
        by_trial = [
            _fit_trial(features, table, dataset, incomplete, rows, trial_name(number, per_repeat))
            for number, rows in enumerate(training)
        ]
        return FittedFeatures(features, table.names, steps, tuple(by_trial), notes, table.encoder)
    to_all = _fit_table(features, table, dataset, incomplete, "any row")
    notes += _unaffected_note(dataset, steps)
    values = to_all.apply(features)[permutation]
    return FittedFeatures(values, table.names, steps, notes=notes, encoder=table.encoder, steps=to_all)


def _imputation_notes(
    features: Floats, table: RawTable, dataset: DatasetBase, strategy: ImputationStrategy
) -> tuple[str, ...]:
    """Return a note about the values that are imputed in columns that kernels use, if there are any."""
    used = list(used_columns(dataset, table.feature_columns))
    origins = table.origins or table.names
    if not np.isnan(features[:, used]).any():
        return ()
    return (imputation_note(features[:, used], strategy, [origins[index] for index in used]),)


def _unaffected_note(dataset: DatasetBase, steps: Sequence[str]) -> tuple[str, ...]:
    """Return a note if `fit_on` makes no difference."""
    if dataset.fit_on == "all" or steps:
        return ()
    return ("fit_on = 'train' changes nothing: no step of this dataset is fitted to data",)


def _fit_table(
    features: Floats, table: RawTable, dataset: DatasetBase, incomplete: Sequence[int], which: str
) -> TableSteps:
    """Fit the steps of numeric columns to some samples; `which` describes these samples in messages."""
    imputation = None
    if dataset.imputing:
        # Fitted to all columns, since new rows may have missing values in any of them.
        imputation = Imputation.fit(features, dataset.imputing, range(features.shape[1]), table.one_hot_groups)
        imputation.check(incomplete, table.origins or table.names, f"dataset {dataset.name!r}", which)
        features = imputation.apply(features)
    return TableSteps(imputation, None if dataset.scaling == "none" else Scaling.fit(features, dataset.scaling))


def _fit_trial(
    features: Floats, table: RawTable, dataset: DatasetBase, incomplete: Sequence[int], rows: Integers, trial: str
) -> TableSteps:
    """Fit the steps of numeric columns to the training set of a trial, and check their results on all samples."""
    which = f"the training set of {trial}"
    steps = _fit_table(features[rows], table, dataset, incomplete, which)
    with np.errstate(over="ignore"):
        largest = np.abs(steps.apply(features)).max(axis=0, initial=0.0)
    if (~(largest < MAX_MAGNITUDE)).any():
        place = int(np.argmin(largest < MAX_MAGNITUDE))
        raise DataError(
            f"dataset {dataset.name!r}: column {table.names[place]!r} varies so little in {which} that other samples "
            f"exceed {MAX_MAGNITUDE:g} after scaling. Add {(table.origins or table.names)[place]!r} to drop, or set "
            "scale = 'none' or fit_on = 'all'"
        )
    return steps


def _fit_trial_vocabularies(
    table: RawTable, dataset: DatasetBase, rows: Integers, training: Sequence[Integers]
) -> FittedFeatures:
    """Fit a vocabulary to the training set of each trial; there is one kernel for each word of any vocabulary."""
    assert table.vocabulary is not None
    counts = scipy.sparse.csr_array(table.features[rows])
    fitted = [fit_nonempty_vocabulary(counts, table.vocabulary, dataset.name, samples) for samples in training]
    columns, placed = place_vocabularies(fitted)
    sizes = [len(vocabulary.columns) for vocabulary in fitted]
    note = (
        f"fit_on = 'train': the vocabularies of the trials have {min(sizes):,} to {max(sizes):,} words, "
        f"{len(columns):,} different words in total; a word has weight 0 in a trial whose vocabulary lacks it"
    )
    return FittedFeatures(
        values=counts[:, columns],
        names=[table.names[column] for column in columns],
        fitted_steps=tuple(dataset.fitted_steps()),
        by_trial=tuple(placed),
        notes=(*few_words_note(fitted, table.vocabulary), note),
        encoder=table.encoder and table.encoder.only(columns),
    )
