"""A run directory as Python objects: tables, weights, statistics and kernels."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd

from kernel_pipeline.config.sweep import Config
from kernel_pipeline.errors import PipelineError, RefusedError
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.gram_matrix import read_gram, source_rows
from kernel_pipeline.run.manifest import Manifest, read_manifest
from kernel_pipeline.run.tables import check_read
from kernel_pipeline.run.verification import TABLES, check_files
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, DamagedError, RunStore
from kernel_pipeline.store.files import quoted
from kernel_pipeline.store.storage import Storage
from kernel_pipeline.tasks.arrays import Floats, Integers


@dataclass(frozen=True)
class TrialStatistics:
    """Alignment statistics of one trial, for kernels scaled to trace one on the training set."""

    M: pd.DataFrame | None
    """Inner products of the centered kernels; None for rank-one kernels, where it is not stored."""
    a: pd.Series
    """Inner products of the centered kernels with the labels."""
    trace: pd.Series
    """Traces of the centered kernels before scaling."""


class RunResults:
    """The results of a run. Everything is read from the run directory when it is first needed.

    Parameters
    ----------
    root
        The run directory.
    data_dir
        Folder for relative paths of data files; that of the run by default.

    Raises
    ------
    RefusedError
        If it is not a run directory, or is damaged.
    """

    def __init__(self, root: Storage, data_dir: Path | None = None) -> None:
        self._root, self._data_dir = root, data_dir
        self._manifest: Manifest = read_manifest(root)

    def __repr__(self) -> str:
        state = "" if self.is_complete else ", unfinished"
        return f"<{type(self).__name__} of {self.config.name!r} in {self.directory}{state}>"

    @property
    def directory(self) -> str:
        """The run directory, or its address in an object store."""
        return str(self._root)

    @property
    def config(self) -> Config:
        """The config of the run, with every default filled in."""
        return self._manifest.config

    @property
    def is_complete(self) -> bool:
        """Whether all tasks are finished and the tables are written."""
        return self._manifest.is_complete

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per dataset, task, method and trial, as in rows.csv."""
        tables = self._manifest.finished.get(TABLES)
        if tables is None or not self.is_complete:
            raise RefusedError(
                f"{self._root} has no tables yet: the run is not finished. `pipeline resume {quoted(self._root)}` "
                "continues it"
            )
        if damaged := list(check_files(tables, {}, self._root)):
            raise self._damaged(str(damaged[0]))
        return read_rows(self._root)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean and standard deviation over the trials, one row per dataset, task and method."""
        return summarise(self.rows)

    def weights(self, dataset: str, method: str, task: str | None = None) -> pd.DataFrame:
        """Return the learned weights of the kernels, which are scaled to trace one.

        Parameters
        ----------
        dataset, method
            Names as in `rows`.
        task
            "regression" or "classification"; required where the dataset has both.

        Returns
        -------
        DataFrame
            A column `kernel` with the names, and one column `trial_0`, `trial_1`, ... per trial. Weights are NaN
            where the method failed.
        """
        problem = self._problem(dataset, task)
        rows = self.rows
        methods = rows.loc[(rows["dataset"] == dataset) & (rows["task"] == problem), "method"].unique()
        _check_known("method", method, methods)
        values = self._read(WEIGHTS, f"{dataset}/{problem}/{method}", undefined=True)
        trials = {f"trial_{trial}": column for trial, column in enumerate(values)}
        return pd.DataFrame({"kernel": self._kernels(dataset), **trials})

    def statistics(self, dataset: str, trial: int, task: str | None = None) -> TrialStatistics:
        """Return the alignment statistics of one trial.

        Parameters
        ----------
        dataset
            Name as in `rows`.
        trial
            Number of the trial, from 0.
        task
            "regression" or "classification"; required where the dataset has both.
        """
        problem, names = self._problem(dataset, task), pd.Index(self._kernels(dataset), name="kernel")
        trials = self.config.protocol.folds
        if trial not in range(trials):
            raise PipelineError(f"trial {trial} does not exist; there are {trials} trials: 0 to {trials - 1}")
        group = f"{dataset}/{problem}"
        has_products = self._manifest.arrays().exists(f"{STATISTICS}/{group}/M/zarr.json")
        return TrialStatistics(
            M=pd.DataFrame(self._read(STATISTICS, f"{group}/M", trial), names, names) if has_products else None,
            a=pd.Series(self._read(STATISTICS, f"{group}/a", trial), names, name="a"),
            trace=pd.Series(self._read(STATISTICS, f"{group}/trace", trial), names, name="trace"),
        )

    def gram(self, dataset: str, kernel: str) -> Floats:
        """Return the Gram matrix of a base kernel, neither centered nor scaled.

        A kernel that is not stored is computed again, from the stored features or from the source data.

        Parameters
        ----------
        dataset
            Name as in `rows`.
        kernel
            Name as in `weights`.

        Returns
        -------
        array of shape (m, m)
            Rows and columns are in the order of the source; `source_rows` has their numbers.
        """
        self._check_dataset(dataset)
        names = self._kernels(dataset)
        _check_known("kernel", kernel, names)
        try:
            return read_gram(self._manifest, dataset, names.index(kernel), self._data_dir)
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def source_rows(self, dataset: str) -> Integers:
        """Return the numbers of the source rows that were used, in ascending order."""
        self._check_dataset(dataset)
        try:
            return np.sort(source_rows(self._manifest, dataset))
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def _read(self, group: str, name: str, selection: object = ..., undefined: bool = False) -> Floats:
        """Read a part of an array, and compare it with the ledger."""
        store = RunStore(self._manifest.arrays())
        try:
            values: Floats = store.read(group, name, selection, undefined)
            check_read(store.access.read, self._manifest.finished)
        except DamagedError as error:
            if self.is_complete:
                raise self._damaged(str(error)) from error
            raise RefusedError(
                f"{self._root} has no {group}/{name} yet: the run is not finished. `pipeline resume "
                f"{quoted(self._root)}` continues it"
            ) from None
        return values

    def _damaged(self, what: str) -> RefusedError:
        return RefusedError(f"{what}. `pipeline verify {quoted(self._root)} --repair` computes it again")

    def _kernels(self, dataset: str) -> tuple[str, ...]:
        info = self._manifest.info(dataset)
        if info is None:
            raise RefusedError(
                f"{self._root} has not stored the data of {dataset!r} yet. `pipeline resume {quoted(self._root)}` "
                "continues the run"
            )
        return info.kernels

    def _check_dataset(self, dataset: str) -> None:
        _check_known("dataset", dataset, [known.name for known in self.config.dataset])

    def _problem(self, dataset: str, task: str | None) -> str:
        """Return the problem of a dataset that is meant."""
        self._check_dataset(dataset)
        problems = next(known.task for known in self.config.dataset if known.name == dataset)
        if task is None and len(problems) > 1:
            given = " or ".join(f"task={problem!r}" for problem in problems)
            raise PipelineError(f"dataset {dataset!r} has {len(problems)} tasks; choose one with {given}")
        if task is not None:
            _check_known("task", task, problems)
        return task or problems[0]


def _check_known(what: str, name: str, known: Iterable[str]) -> None:
    """Reject a name that does not exist, with those that do."""
    names = list(known)
    if name not in names:
        nearest = get_close_matches(name, names, n=1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        listed = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10:,} more" if len(names) > 10 else "")
        raise PipelineError(f"there is no {what} {name!r}; there are: {listed}.{hint}")
