"""Prepare datasets: sample and encode rows, scale columns, and reorder rows so that every fold is contiguous."""

import hashlib
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from kernel_pipeline.config.datasets import DatasetBase, TableDataset
from kernel_pipeline.config.families import spec_of
from kernel_pipeline.config.feature_columns import FeatureColumns
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.config.views import chosen_columns, gram_families, has_views, rank_one_names
from kernel_pipeline.data.class_notes import class_notes
from kernel_pipeline.data.class_sizes import check_classes
from kernel_pipeline.data.family_checks import check_on_samples, samples_by_trial
from kernel_pipeline.data.fitted_features import Features, FittedSteps, fit_features
from kernel_pipeline.data.fold_assignment import largest_train, repeat_notes, repeated_folds
from kernel_pipeline.data.kernel_files import KernelFile
from kernel_pipeline.data.new_rows import RowEncoder
from kernel_pipeline.data.precomputed import PrecomputedKernels, find_kernel_files
from kernel_pipeline.data.raw_table import RawTable, read_source
from kernel_pipeline.data.row_sample import sample_rows
from kernel_pipeline.data.targets import MAX_LISTED_LABELS, EncodedTarget, encode_target, is_numbers
from kernel_pipeline.errors import DataError
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import trials
from kernel_pipeline.tasks.kernels.family import kernel_names
from kernel_pipeline.text import printable


@dataclass(frozen=True)
class PreparedDataset:
    """The samples of a dataset, in the order of the folds."""

    name: str
    """Name of the dataset."""
    features: Features
    """Feature matrix of shape (m, d), before the steps that are fitted to the training set of each trial."""
    kernels: tuple[str, ...]
    """Names of the base kernels."""
    targets: dict[str, Floats]
    """Target of each problem, of shape (m,), or (m, columns) for several outputs or more than two classes."""
    order: Integers
    """Row number in the source of each of the m samples."""
    fold: Integers
    """Fold of each of the m samples; in the first repeat, if there are several."""
    left_out: int
    """Number of rows of the source that are not usable."""
    classes: tuple[tuple[str, ...], ...] = ()
    """The labels of each class, in the order of the classes."""
    outputs: tuple[str, ...] = ()
    """Names of the target columns of a regression, if there are several."""
    notes: tuple[str, ...] = ()
    """Remarks about the source, the classes, and the kernel families on these data."""
    columns: FeatureColumns | None = None
    """The feature columns; None if each of them is a kernel, which is named after it."""
    has_views: bool = False
    """Whether any entry of `kernels` is a view; the fingerprint then includes the feature columns."""
    largest_train: int | None = None
    """Size of the largest training set, if the folds may have different sizes."""
    precomputed: PrecomputedKernels | None = None
    """The precomputed kernels, if there are any."""
    by_trial: tuple[FittedSteps, ...] = ()
    """Steps that are fitted to the training set of each trial; empty if they are fitted to all samples."""
    fitted_steps: tuple[str, ...] = ()
    """The settings whose steps are fitted to data, as in the config, such as "scale = 'standard'"."""
    encoder: RowEncoder | None = None
    """Encoder of new rows as features before all steps; None if the source does not support new rows."""
    steps: FittedSteps | None = None
    """Steps that are fitted to all samples and applied to `features` already; None if there are none."""
    fold_by_repeat: Integers | None = None
    """Fold of each sample in each repeat, (repeats, m); None for one repeat."""

    def features_of(self, trial: int | None) -> Features:
        """Return the features after all steps, as a trial uses them; `trial` is None if all trials use the same."""
        return self.features if trial is None else self.by_trial[trial].apply(self.features)

    @property
    def fingerprint(self) -> str:
        """Return a digest of all numbers used for learning, and of the names of kernels and of columns of views."""
        digest = hashlib.sha256(repr((self.features.shape, self.kernels)).encode())
        if self.has_views:
            digest.update(repr(self.columns).encode())
        if self.precomputed:
            digest.update(self.precomputed.fingerprint.encode())
        for trial in range(len(self.by_trial)) if self.by_trial else [None]:
            _update_digest(digest, *_parts(self.features_of(trial)))
        _update_digest(digest, *self.targets.values(), self.order, self.fold)
        if self.fold_by_repeat is not None:
            _update_digest(digest, self.fold_by_repeat)
        return digest.hexdigest()

    @cached_property
    def info(self) -> DatasetInfo:
        """Return the sizes and the identity of the dataset."""
        rows, columns = self.features.shape
        return DatasetInfo(
            name=self.name,
            fingerprint=self.fingerprint,
            rows=rows,
            columns=columns,
            entries=self.features.size,
            kernels=self.kernels,
            left_out=self.left_out,
            classes=self.classes,
            outputs=self.outputs,
            notes=self.notes,
            features=self.columns,
            largest_train=self.largest_train,
            precomputed=self.precomputed.shifts if self.precomputed else (),
            per_trial=bool(self.by_trial),
            fitted_steps=self.fitted_steps,
        )


def _parts(features: Features) -> list[NDArray[Any]]:
    return [features] if isinstance(features, np.ndarray) else [features.data, features.indices, features.indptr]


def _update_digest(digest: "hashlib._Hash", *arrays: NDArray[Any]) -> None:
    """Add the shapes and values of arrays to a digest."""
    for array in arrays:
        digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())


def prepare_dataset(config: Config, dataset: DatasetBase, folder: Path) -> PreparedDataset:
    """Read a dataset from its source and prepare it.

    Parameters
    ----------
    config
        The sweep, which has the seed and the number of folds.
    dataset
        One of the datasets of the sweep.
    folder
        Directory that contains the data files.

    Raises
    ------
    DataError
        If the dataset cannot be read or cannot be used for learning.
    """
    table = _keep_rank_one_columns(read_source(dataset, folder, config.seed), dataset)
    return _prepare(config, dataset, table, find_kernel_files(dataset, folder, table))


def _prepare(config: Config, dataset: DatasetBase, table: RawTable, files: list[KernelFile]) -> PreparedDataset:
    """Sample and encode the rows of a table, fit all steps, and reorder the rows by fold.

    Parameters
    ----------
    files
        Files of precomputed kernels.
    """
    chosen = sample_rows(table, dataset, config)
    encoded = {problem: _target(table, chosen, problem, dataset) for problem in dataset.task}
    targets: dict[str, Floats] = {problem: target.values for problem, target in encoded.items()}
    for target in encoded.values():
        check_classes(target, table.rows[chosen], dataset.name, table.header_hint)
    if dataset.uses_features and not _varies(table.features[chosen]):
        raise DataError(f"dataset {dataset.name!r}: every feature column is constant; there is nothing to learn from")
    protocol, several = config.protocol, config.protocol.repeats > 1
    permutation, fold_by_repeat = repeated_folds(
        table, chosen, targets, protocol.folds, dataset.name, config.seed, protocol.repeats
    )
    repeat_trials = trials(protocol.folds, dataset.fixed_test)
    training = [np.flatnonzero(np.isin(fold, trial.train)) for fold in fold_by_repeat for trial in repeat_trials]
    per_repeat = len(repeat_trials) if several else None
    fitted = fit_features(table, dataset, chosen, permutation, training, per_repeat)
    order = table.rows[chosen[permutation]]
    precomputed = PrecomputedKernels.from_files(files, order, not dataset.uses_features) if files else None
    families = gram_families(
        dataset, table.feature_columns if has_views(dataset) else None, precomputed.shifts if precomputed else ()
    )
    notes = [*table.notes, *fitted.notes, *_target_notes(table, dataset), *_test_notes(table)]
    notes += repeat_notes(fold_by_repeat)
    if "classification" in targets:
        labels, is_table = _labels(table, chosen, "classification"), isinstance(dataset, TableDataset)
        notes += class_notes(labels, targets["classification"], is_table)
    if precomputed:
        notes += precomputed.notes(families)
    if families:
        notes += check_on_samples(families, samples_by_trial(fitted, training), table.names, dataset.name, per_repeat)
    uneven = any(part is not None for part in (table.groups, table.given_folds, table.test))
    return PreparedDataset(
        name=dataset.name,
        features=fitted.values,
        kernels=kernel_names(families) if families else rank_one_names(dataset.kernels[0], fitted.names),
        targets={problem: values[permutation] for problem, values in targets.items()},
        order=order,
        fold=fold_by_repeat[0],
        left_out=table.left_out,
        classes=next((target.classes for target in reversed(encoded.values()) if target.classes), ()),
        outputs=next((target.outputs for target in encoded.values() if target.outputs), ()),
        notes=tuple(map(printable, notes)),
        columns=table.feature_columns if families else None,
        has_views=bool(families) and has_views(dataset),
        largest_train=max(largest_train(fold, repeat_trials) for fold in fold_by_repeat) if uneven else None,
        precomputed=precomputed,
        by_trial=fitted.by_trial,
        fitted_steps=fitted.fitted_steps,
        encoder=fitted.encoder,
        steps=fitted.steps,
        fold_by_repeat=fold_by_repeat if several else None,
    )


def _keep_rank_one_columns(table: RawTable, dataset: DatasetBase) -> RawTable:
    """Keep only the columns that a rank-one family chooses, if it is the only family and chooses columns."""
    entry = dataset.kernels[0]
    if dataset.column_family is None or spec_of(entry).columns is None:
        return table
    indices = list(chosen_columns(entry, table.feature_columns, f"dataset {dataset.name!r}: kernels[0]"))
    return replace(
        table,
        features=table.features[:, indices],
        names=[table.names[index] for index in indices],
        origins=table.origins and [table.origins[index] for index in indices],
        one_hot_groups=[
            [indices.index(index) for index in group if index in indices] for group in table.one_hot_groups
        ],
        numbers=indices if table.numbers is None else [int(table.numbers[index]) for index in indices],
        encoder=table.encoder and table.encoder.only(np.array(indices)),
    )


def _target(table: RawTable, chosen: Integers, problem: str, dataset: DatasetBase) -> EncodedTarget:
    """Encode the labels of the chosen rows for a problem."""
    labels, positive = _labels(table, chosen, problem), table.positive
    if problem == "regression" and "classification" in dataset.task and is_numbers(labels):
        positive = None  # it applies only to the classification
    return encode_target(labels, problem, positive, dataset.name)


def _labels(table: RawTable, chosen: Integers, problem: str) -> pd.Series | pd.DataFrame:
    """Return the labels of the chosen rows for a problem, as they are in the source."""
    other = table.class_labels if problem == "classification" else None
    return (table.target if other is None else other).iloc[chosen]


def _target_notes(table: RawTable, dataset: DatasetBase) -> tuple[str, ...]:
    """Return a note about a regression on text labels, which may have been meant as a classification."""
    if dataset.task != ["regression"] or isinstance(table.target, pd.DataFrame) or is_numbers(table.target):
        return ()
    labels = sorted(table.target.map(str).unique())
    return (
        f"the target of the regression is text ({', '.join(labels[:MAX_LISTED_LABELS])}), encoded as -1 and +1; did "
        "you mean task = 'classification'?",
    )


def _test_notes(table: RawTable) -> tuple[str, ...]:
    """Return a note about a fixed test set."""
    if table.test is None:
        return ()
    count = int(table.test.sum())
    return (f"the test set is fixed ({count} samples); trials differ only in their training and validation sets",)


def _varies(features: Features) -> bool:
    """Return whether at least one column is not constant."""
    if isinstance(features, np.ndarray):
        low, high = np.fmin.reduce(features, axis=0), np.fmax.reduce(features, axis=0)  # without missing values
        return bool((high > low).any())
    return bool((features.max(axis=0) - features.min(axis=0)).nnz)
