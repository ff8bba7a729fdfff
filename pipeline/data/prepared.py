"""Prepared datasets: sampled, encoded, scaled, and reordered so that every fold is contiguous."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse

from kernel_pipeline.config.datasets import DatasetBase
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.encoding import encode_target, is_numbers
from kernel_pipeline.data.raw_table import RawTable, read_source
from kernel_pipeline.errors import DataError
from kernel_pipeline.store.dataset_info import DatasetInfo
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import deal_folds
from kernel_pipeline.tasks.kernels.family import family_notes, kernel_names

MIN_PER_CLASS = 3
"""Smallest number of samples of a class: a trial trains without two folds, so a class must occur in three."""


@dataclass(frozen=True)
class PreparedDataset:
    """The samples of a dataset, in the order of the folds."""

    name: str
    """Name of the dataset."""
    features: Floats | scipy.sparse.csr_array
    """Feature matrix of shape (m, d)."""
    kernels: tuple[str, ...]
    """Names of the base kernels."""
    targets: dict[str, Floats]
    """Target of shape (m,) of each task."""
    order: Integers
    """Row number in the source of each of the m samples."""
    fold: Integers
    """Fold of each of the m samples."""
    left_out: int
    """Number of rows of the source that are not usable."""
    notes: tuple[str, ...] = ()
    """Remarks about the kernel families on these data."""

    @property
    def fingerprint(self) -> str:
        """Digest of all numbers that are used for learning, and of the names of the kernels."""
        digest = hashlib.sha256(repr((self.features.shape, self.kernels)).encode())
        features = self.features
        parts = [features] if isinstance(features, np.ndarray) else [features.data, features.indices, features.indptr]
        for array in (*parts, *self.targets.values(), self.order, self.fold):
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @cached_property
    def info(self) -> DatasetInfo:
        """Sizes and identity of the dataset."""
        rows, columns = self.features.shape
        return DatasetInfo(
            name=self.name,
            fingerprint=self.fingerprint,
            rows=rows,
            columns=columns,
            entries=self.features.size,
            kernels=self.kernels,
            left_out=self.left_out,
            notes=self.notes,
        )


def load_samples(config: Config, dataset: DatasetBase, folder: Path) -> PreparedDataset:
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
    table = read_source(dataset, folder, config.seed)
    chosen = _sample(len(table.target), dataset, config)
    features = table.features[chosen]
    targets = {task: _target(table, chosen, task, dataset) for task in dataset.task}
    for values in targets.values():
        _check_classes(values, dataset.name)
    if not _varies(features):
        raise DataError(f"dataset {dataset.name!r}: every feature column is constant; there is nothing to learn from")
    if isinstance(features, np.ndarray):
        features = _scale(features, dataset.scaling)
    dealt_by = targets.get("classification", targets[dataset.task[0]])  # classes are distributed evenly over folds
    place, fold = deal_folds(dealt_by, config.protocol.folds)
    features, families = features[place], dataset.gram_families
    return PreparedDataset(
        name=dataset.name,
        features=features,
        kernels=kernel_names(families) if families else tuple(table.names),
        targets={task: values[place] for task, values in targets.items()},
        order=table.rows[chosen[place]],
        fold=fold,
        left_out=table.left_out,
        notes=family_notes(families, features, table.names) if isinstance(features, np.ndarray) else (),
    )


def _target(table: RawTable, chosen: Integers, task: str, dataset: DatasetBase) -> Floats:
    """Encode the labels of the chosen rows for a task."""
    labels, positive = table.target, table.positive
    if task == "classification" and table.class_labels is not None:
        labels = table.class_labels
    labels = labels.iloc[chosen]
    if task == "regression" and "classification" in dataset.task and is_numbers(labels):
        positive = None  # it applies to the classification only
    return encode_target(labels, task, positive, dataset.name)


def _varies(features: Floats | scipy.sparse.csr_array) -> bool:
    """Return whether at least one column is not constant."""
    if isinstance(features, np.ndarray):
        return bool(np.ptp(features, axis=0).any())
    return bool((features.max(axis=0) - features.min(axis=0)).nnz)


def _sample(available: int, dataset: DatasetBase, config: Config) -> Integers:
    """Return the rows to learn from, in random order."""
    folds, rows, name = config.protocol.folds, dataset.rows or available, dataset.name
    if rows > available:
        raise DataError(f"dataset {name!r}: rows = {rows}, but there are only {available} usable rows")
    if rows < folds:
        raise DataError(f"dataset {name!r}: {rows} rows are too few for {folds} folds; each fold needs a row")
    return np.random.default_rng(config.seed).permutation(available)[:rows].astype(np.int64)


def _check_classes(target: Floats, name: str) -> None:
    """Raise a `DataError` if one of two classes has too few samples."""
    values, counts = np.unique(target, return_counts=True)
    if len(values) == 2 and counts.min() < MIN_PER_CLASS:
        raise DataError(
            f"dataset {name!r}: there are {counts.min()} sample(s) of one class and {counts.max()} of the other; "
            f"at least {MIN_PER_CLASS} of each are required, so that every training set contains both"
        )


def _scale(features: Floats, how: str) -> Floats:
    """Scale columns by all samples, since all trials share the Gram matrices; constant columns become 0."""
    if how == "none":
        return features
    constant = np.ptp(features, axis=0) == 0
    offset = features.mean(axis=0) if how == "standard" else features.min(axis=0)
    moved = features - offset
    moved /= np.where(constant, 1.0, np.abs(moved).max(axis=0))  # avoids underflow of the squares in std
    width = moved.std(axis=0) if how == "standard" else moved.max(axis=0)
    return np.where(constant, 0.0, moved / np.where(constant, 1.0, width))
