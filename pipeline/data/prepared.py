"""A dataset made ready: numbers only, sampled, scaled, and reordered so that every fold is contiguous."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.datasets import (
    Dataset,
    DocumentsDataset,
    FileDataset,
    NumbersDataset,
    NumbersSource,
    SentimentDataset,
    TableDataset,
)
from kernel_pipeline.config.sweep import Config
from kernel_pipeline.data.encoding import encode_features, encode_target, is_numbers, whole_rows
from kernel_pipeline.data.sources import Table, read_source
from kernel_pipeline.data.sparse_sources import read_sparse
from kernel_pipeline.errors import DataError
from kernel_pipeline.store.dataset_info import Outline
from kernel_pipeline.tasks.arrays import Floats, Integers
from kernel_pipeline.tasks.folds import deal_folds
from kernel_pipeline.tasks.kernels.family import family_notes, kernel_names
from kernel_pipeline.text import printable

# A trial takes two folds away from training, so a class needs samples in three.
LEAST_OF_A_CLASS = 3
# The least rating of a review that praises.
LEAST_LIKED = 4


@dataclass(frozen=True)
class Samples:
    """The samples of one dataset, in fold order."""

    name: str
    features: Floats | scipy.sparse.csr_array
    """(m, d)"""
    kernels: tuple[str, ...]
    """The names of the base kernels."""
    targets: dict[str, Floats]
    """(m,) a task"""
    order: Integers
    """order[i] is the row of the source that stands at place i."""
    fold: Integers
    left_out: int
    """Rows of the source that had gaps."""
    notes: tuple[str, ...] = ()
    """What a user should know about the kernel families on these data."""

    @property
    def fingerprint(self) -> str:
        """A digest of every number that learning sees, and of what the columns are called."""
        digest = hashlib.sha256(repr((self.features.shape, self.kernels)).encode())
        features = self.features
        parts = [features] if isinstance(features, np.ndarray) else [features.data, features.indices, features.indptr]
        for array in (*parts, *self.targets.values(), self.order, self.fold):
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @cached_property
    def outline(self) -> Outline:
        """What is known of them without their numbers."""
        rows, columns = self.features.shape
        return Outline(
            name=self.name,
            fingerprint=self.fingerprint,
            rows=rows,
            columns=columns,
            entries=self.features.size,
            kernels=self.kernels,
            left_out=self.left_out,
            notes=self.notes,
        )


def load_samples(config: Config, dataset: Dataset, folder: Path) -> Samples:
    """Read a dataset and make it ready, or say in a `DataError` what is wrong with it."""
    if isinstance(dataset, DocumentsDataset) or (isinstance(dataset, FileDataset) and dataset.sparse):
        table = read_sparse(dataset, folder)
    else:
        table = _numbers(config, dataset, folder)
    chosen = _sample(len(table.target), dataset, config)
    features, target = table.features[chosen], table.target.iloc[chosen]
    targets = {task: _target(target, task, dataset) for task in dataset.task}
    for values in targets.values():
        _check_classes(values, dataset.name)
    if not _varies(features):
        raise DataError(f"dataset {dataset.name!r}: every feature column is constant; there is nothing to learn from")
    if isinstance(dataset, NumbersDataset) and isinstance(features, np.ndarray):
        features = _scale(features, dataset.scale)
    dealt_by = targets.get("classification", targets[dataset.task[0]])  # so that each fold has its share of classes
    place, fold = deal_folds(dealt_by, config.protocol.folds)
    features, families = features[place], dataset.gram_families
    return Samples(
        name=dataset.name,
        features=features,
        kernels=kernel_names(families) if families else tuple(table.names),
        targets={task: values[place] for task, values in targets.items()},
        order=table.rows[chosen[place]],
        fold=fold,
        left_out=table.left_out,
        notes=family_notes(families, features, table.names) if isinstance(features, np.ndarray) else (),
    )


def _numbers(config: Config, dataset: NumbersSource, folder: Path) -> Table:
    table, target = read_source(dataset, folder, config.seed)
    encode, missing = (dataset.encode, dataset.missing) if isinstance(dataset, TableDataset) else (None, "error")
    encoded = encode_features(table, encode, dataset.name)
    whole = whole_rows(encoded, target, missing, dataset.name)
    return Table(
        features=encoded[whole].to_numpy(np.float64),
        names=[printable(str(column)) for column in encoded.columns],
        target=target[whole],
        rows=np.flatnonzero(whole),
        left_out=int((~whole).sum()),
    )


def _target(target: pd.Series, task: str, dataset: Dataset) -> Floats:
    if isinstance(dataset, SentimentDataset) and task == "classification":
        target = target >= LEAST_LIKED
    positive = getattr(dataset, "positive", None)
    if task == "regression" and "classification" in dataset.task and is_numbers(target):
        positive = None  # it is for the other task
    return encode_target(target, task, positive, dataset.name)


def _varies(features: Floats | scipy.sparse.csr_array) -> bool:
    if isinstance(features, np.ndarray):
        return bool(np.ptp(features, axis=0).any())
    return bool((features.max(axis=0) - features.min(axis=0)).nnz)


def _sample(available: int, dataset: Dataset, config: Config) -> Integers:
    """The rows to learn from, in random order."""
    folds, rows, name = config.protocol.folds, dataset.rows or available, dataset.name
    if rows > available:
        raise DataError(f"dataset {name!r}: rows = {rows}, but there are only {available} usable rows")
    if rows < folds:
        raise DataError(f"dataset {name!r}: {rows} rows cannot fill {folds} folds; a fold needs at least one row")
    return np.random.default_rng(config.seed).permutation(available)[:rows].astype(np.int64)


def _check_classes(target: Floats, name: str) -> None:
    values, counts = np.unique(target, return_counts=True)
    if len(values) == 2 and counts.min() < LEAST_OF_A_CLASS:
        raise DataError(
            f"dataset {name!r}: {counts.min()} sample(s) of one class and {counts.max()} of the other; each needs at "
            f"least {LEAST_OF_A_CLASS}, so that every training set has both"
        )


def _scale(features: Floats, how: str) -> Floats:
    """Scale columns by all samples, since the Gram matrices serve every trial; constant columns become 0."""
    if how == "none":
        return features
    constant = np.ptp(features, axis=0) == 0
    offset = features.mean(axis=0) if how == "standard" else features.min(axis=0)
    moved = features - offset
    moved /= np.where(constant, 1.0, np.abs(moved).max(axis=0))  # before squares are taken, which may vanish
    width = moved.std(axis=0) if how == "standard" else moved.max(axis=0)
    return np.where(constant, 0.0, moved / np.where(constant, 1.0, width))
