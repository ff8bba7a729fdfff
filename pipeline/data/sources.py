"""Where datasets come from: files, scikit-learn, OpenML, a generator."""

import os
import warnings
from collections.abc import Hashable
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd
import scipy.sparse

from kernel_pipeline.config.datasets import (
    FileDataset,
    NumbersSource,
    OpenmlDataset,
    SklearnDataset,
    SyntheticDataset,
    TableDataset,
)
from kernel_pipeline.data.formats import TARGET, read_table
from kernel_pipeline.data.table_size import check_table
from kernel_pipeline.errors import DataError
from kernel_pipeline.tasks.arrays import Floats, Integers

DATA_DIR_VARIABLE = "PIPELINE_DATA_DIR"
LEGACY_SEEDS = 2**32
"""Number of seeds that numpy's older generators, which scikit-learn uses, take as they are."""


@dataclass(frozen=True)
class Table:
    """PreparedDataset as numbers, with their labels as the source has them."""

    features: Floats | scipy.sparse.csr_array
    """(m, d)"""
    names: list[str]
    """Of the columns."""
    target: pd.Series
    rows: Integers
    """(m,): which row of the source, such as a line of a file, each one was."""
    left_out: int
    """Rows of the source that are not here."""


def data_folder(option: Path | None, config_folder: Path) -> Path:
    """Where relative paths of data files start: --data-dir, else PIPELINE_DATA_DIR, else the config's folder."""
    if option is not None:
        return option
    return Path(os.environ.get(DATA_DIR_VARIABLE) or config_folder)


def existing(path: Path, kind: Literal["file", "folder"], name: str) -> Path:
    """The path itself; refuses one where there is no such thing."""
    if not (path.is_file() if kind == "file" else path.is_dir()):
        raise DataError(
            f"dataset {name!r}: there is no {kind} {path}. Put it there, or say where the data are: "
            f"--data-dir DIR, or the environment variable {DATA_DIR_VARIABLE}"
        )
    return path


def read_source(dataset: NumbersSource, folder: Path, seed: int) -> tuple[pd.DataFrame, pd.Series]:
    """The feature columns and the target column of a dataset, as its source has them."""
    if isinstance(dataset, SyntheticDataset):
        table = _synthetic(dataset, seed)
    elif isinstance(dataset, SklearnDataset):
        table = _sklearn(dataset)
    elif isinstance(dataset, OpenmlDataset):
        table = _openml(dataset, folder)
    else:
        table = _file(dataset, folder)
    target: Hashable = table.columns[-1]
    if isinstance(dataset, TableDataset):
        if dataset.target != "":
            target = _column(table, dataset.target, "target", dataset.name)
        dropped = [_column(table, column, "drop", dataset.name) for column in dataset.drop]
        if target in dropped:
            raise DataError(f"dataset {dataset.name!r}: drop = {dataset.drop} names the target column {target!r}")
        table = table.drop(columns=dropped)
    features = table.drop(columns=[target])
    if features.shape[1] == 0:
        raise DataError(
            f"dataset {dataset.name!r}: no feature column is left beside the target {target!r}. Is it the right format?"
        )
    return features, table[target]


def _column(table: pd.DataFrame, wanted: int | str, field: str, name: str) -> Hashable:
    """The label of a column given by number, from either end, or by name."""
    columns: list[Hashable] = list(table.columns)
    if isinstance(wanted, int) and wanted not in columns:  # columns without a name have their numbers as labels
        if not -len(columns) <= wanted < len(columns):
            raise DataError(
                f"dataset {name!r}: {field} = {wanted} is out of range; the table has {len(columns)} columns, "
                f"so {-len(columns)} to {len(columns) - 1} are allowed"
            )
        return columns[wanted]
    if wanted not in columns:
        listed = ", ".join(map(repr, columns[:20])) + (", ..." if len(columns) > 20 else "")
        raise DataError(
            f"dataset {name!r}: {field} = {wanted!r} is not a column; there are: {listed}. A name needs a first line "
            "that names the columns"
        )
    return wanted


def _file(dataset: FileDataset, folder: Path) -> pd.DataFrame:
    return read_table(existing(folder / dataset.path, "file", dataset.name), dataset)


def _sklearn(dataset: SklearnDataset) -> pd.DataFrame:
    from sklearn import datasets

    bunch = getattr(datasets, f"load_{dataset.id}")()
    table = pd.DataFrame(bunch.data, columns=getattr(bunch, "feature_names", None))
    names = getattr(bunch, "target_names", None)
    table[TARGET] = bunch.target if names is None else np.asarray(names)[bunch.target].astype(str)
    return table


def _openml(dataset: OpenmlDataset, folder: Path) -> pd.DataFrame:
    from sklearn.datasets import fetch_openml

    which = {"data_id": dataset.id} if isinstance(dataset.id, int) else {"name": dataset.id}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of retries; what matters is said below
            bunch = fetch_openml(**which, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError, HTTPException) as error:
        raise DataError(
            f"dataset {dataset.name!r}: OpenML did not give {dataset.id!r}: {error}. Without a network, download its "
            f"ARFF file elsewhere, put it at {folder / dataset.name}.arff, and set source = 'file', "
            f"path = '{dataset.name}.arff', format = 'arff'"
        ) from None
    if bunch.target is None and dataset.target == "":
        raise DataError(f"dataset {dataset.name!r}: OpenML names no target for {dataset.id!r}; set target = 'COLUMN'")
    table: pd.DataFrame = pd.concat([bunch.data, bunch.target], axis=1)
    return table


def _synthetic(dataset: SyntheticDataset, seed: int) -> pd.DataFrame:
    from sklearn.datasets import make_friedman1

    check_table(dataset.rows, dataset.features, dataset.name)
    random = np.random.RandomState(seed if seed < LEGACY_SEEDS else np.random.MT19937(np.random.SeedSequence(seed)))
    features, target = make_friedman1(dataset.rows, dataset.features, noise=dataset.noise, random_state=random)
    if dataset.task == ["classification"]:
        target = np.where(target > np.median(target), 1.0, -1.0)
    table = pd.DataFrame(features)
    table[TARGET] = target
    return table
