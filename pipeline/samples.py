"""A dataset made ready: numbers only, sampled, scaled, and reordered so that every fold is contiguous."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pipeline.config import Config, Dataset, TableDataset
from pipeline.encode import encode_features, encode_target, whole_rows
from pipeline.errors import DataError
from pipeline.sources import read_source
from tasks.arrays import Floats, Integers
from tasks.folds import deal_folds

# A trial takes two folds away from training, so a class needs samples in three.
LEAST_OF_A_CLASS = 3


@dataclass(frozen=True)
class Samples:
    """The samples of one dataset, in fold order."""

    name: str
    features: Floats
    """(m, d)"""
    targets: dict[str, Floats]
    """(m,) a task"""
    order: Integers
    """order[i] is the row of the source that stands at place i."""
    fold: Integers
    left_out: int
    """Rows of the source that had gaps."""

    @property
    def fingerprint(self) -> str:
        """A digest of every number that learning sees."""
        digest = hashlib.sha256()
        for array in (self.features, *self.targets.values(), self.order, self.fold):
            digest.update(str(array.shape).encode() + np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()


def load_samples(config: Config, dataset: Dataset, folder: Path) -> Samples:
    """Read a dataset and make it ready, or say in a `DataError` what is wrong with it."""
    table, target = read_source(dataset, folder, config.seed)
    encode, missing = (dataset.encode, dataset.missing) if isinstance(dataset, TableDataset) else (None, "error")
    encoded = encode_features(table, encode, dataset.name)
    whole = whole_rows(encoded, target, missing, dataset.name)
    features, target = encoded[whole].to_numpy(np.float64), target[whole]
    chosen = _sample(len(features), dataset, config)
    features, target = features[chosen], target.iloc[chosen]
    positive = getattr(dataset, "positive", None)
    targets = {task: encode_target(target, task, positive, dataset.name) for task in dataset.task}
    for values in targets.values():
        _check_classes(values, dataset.name)
    if not np.ptp(features, axis=0).any():
        raise DataError(f"dataset {dataset.name!r}: every feature column is constant; there is nothing to learn from")
    place, fold = deal_folds(targets[dataset.task[-1]], config.protocol.folds)
    return Samples(
        name=dataset.name,
        features=_scale(features, dataset.scale)[place],
        targets={task: values[place] for task, values in targets.items()},
        order=np.flatnonzero(whole)[chosen[place]],
        fold=fold,
        left_out=int((~whole).sum()),
    )


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
