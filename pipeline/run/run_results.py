"""Read the results of a run as Python objects: tables, weights, statistics and kernels."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from kernel_pipeline.config.views import column_names
from kernel_pipeline.errors import PipelineError, RefusedError
from kernel_pipeline.results.stored_tables import read_rows
from kernel_pipeline.results.summary import summarise
from kernel_pipeline.run.gram_matrix import WantedKernel, dataset_plan, read_gram, source_rows
from kernel_pipeline.run.known_names import check_known, check_method, check_weighted
from kernel_pipeline.run.opened_run import OpenedRun
from kernel_pipeline.run.verification import check_files
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS, DamagedError
from kernel_pipeline.store.files import quoted
from kernel_pipeline.tasks.arrays import Floats, Integers

if TYPE_CHECKING:
    from kernel_pipeline.models.model import FittedModel
    from kernel_pipeline.plan.dataset_plan import DatasetPlan
    from kernel_pipeline.run.chosen_values import WantedModel
    from kernel_pipeline.run.combined_kernel import CombinedKernel


@dataclass(frozen=True)
class TrialStatistics:
    """Alignment statistics of one trial, for kernels scaled to trace one on the training set."""

    M: pd.DataFrame | None
    """Inner products of the centered kernels; None for rank-one kernels, for which they are not stored."""
    a: pd.Series
    """Inner products of the centered kernels with the labels."""
    trace: pd.Series
    """Traces of the centered kernels before scaling."""


class RunResults(OpenedRun):
    """The results of a run. Everything is read from the run directory when it is first needed."""

    @cached_property
    def rows(self) -> pd.DataFrame:
        """One row per dataset, task, method, repeat and trial, as in rows.csv."""
        tables = self._manifest.finished.tables
        if tables is None or not self.is_complete:
            raise RefusedError(
                f"{self._root} has no tables yet: the run is not finished. `pipeline resume {quoted(self._root)}` "
                "resumes the run"
            )
        if damaged := list(check_files(tables, self._root)):
            raise self._damaged(str(damaged[0]))
        return read_rows(self._root)

    @cached_property
    def summary(self) -> pd.DataFrame:
        """Mean and standard deviation over the trials of all repeats, one row per dataset, task and method."""
        return summarise(self.rows)

    def weights(self, dataset: str, method: str, task: str | None = None, repeat: int | None = None) -> pd.DataFrame:
        """Return the learned weights of the kernels, which are scaled to trace one.

        Parameters
        ----------
        dataset, method
            Names as in `rows`.
        task
            "regression" or "classification"; required if the dataset has both.
        repeat
            Number of the repeat, from 0; by default, the weights of all repeats are returned.

        Returns
        -------
        DataFrame
            A column `kernel` with the names, and one column per trial: `trial_0`, `trial_1`, ..., or, if there are
            several repeats and none is chosen, `repeat_0_trial_0`, .... Weights are NaN if the method failed.

        Raises
        ------
        PipelineError
            If there is no such dataset or method, or the method has no weights, such as `linear`.
        """
        problem = self._problem(dataset, task)
        rows = self.rows
        methods = rows.loc[(rows["dataset"] == dataset) & (rows["task"] == problem), "method"].unique().tolist()
        if method not in methods:
            check_method(method, problem, methods, dataset_plan(self._manifest, dataset).unsupported)
        check_weighted(method, methods, self.config.used_methods)
        folds, repeats = self.config.protocol.folds, self.config.protocol.repeats
        chosen = slice(None) if repeat is None else slice(folds * self._check_repeat(repeat), folds * (repeat + 1))
        values = self._read(WEIGHTS, f"{dataset}/{problem}/{method}", chosen, allow_nan=True)
        names = [f"trial_{trial}" for trial in range(folds)]
        if repeat is None and repeats > 1:
            names = [f"repeat_{number}_{name}" for number in range(repeats) for name in names]
        return pd.DataFrame({"kernel": self._kernels(dataset), **dict(zip(names, values, strict=True))})

    def statistics(self, dataset: str, trial: int, task: str | None = None, repeat: int = 0) -> TrialStatistics:
        """Return the alignment statistics of one trial.

        Parameters
        ----------
        dataset
            Name as in `rows`.
        trial
            Number of the trial, from 0.
        task
            "regression" or "classification"; required if the dataset has both.
        repeat
            Number of the repeat, from 0.
        """
        problem, names = self._problem(dataset, task), pd.Index(self._kernels(dataset), name="kernel")
        trial = self._trial_number(trial, repeat)
        group = f"{dataset}/{problem}"
        has_products = self._manifest.arrays().exists(f"{STATISTICS}/{group}/M/zarr.json")
        return TrialStatistics(
            M=pd.DataFrame(self._read(STATISTICS, f"{group}/M", trial), names, names) if has_products else None,
            a=pd.Series(self._read(STATISTICS, f"{group}/a", trial), names, name="a"),
            trace=pd.Series(self._read(STATISTICS, f"{group}/trace", trial), names, name="trace"),
        )

    def gram(self, dataset: str, kernel: str, trial: int | None = None, repeat: int = 0) -> Floats:
        """Return the Gram matrix of a base kernel, neither centered nor scaled.

        A kernel that is not stored is computed again, from the stored features or from the source data.

        Parameters
        ----------
        dataset
            Name as in `rows`.
        kernel
            Name as in `weights`.
        trial
            Number of the trial, from 0; required if kernels differ by trial, as with `fit_on = "train"`.
        repeat
            Number of the repeat, from 0.

        Returns
        -------
        array of shape (m, m)
            Rows and columns are in the order of the source; `source_rows` returns their numbers.
        """
        self._check_dataset(dataset)
        names = self._kernels(dataset)
        check_known("kernel", kernel, names)
        if trial is not None:
            trial = self._trial_number(trial, repeat)
        if not self._info(dataset).per_trial:
            trial = None
        elif trial is None:
            raise PipelineError(
                f"the kernels of {dataset!r} differ by trial, since fit_on = 'train'; choose a trial with trial=0 to "
                f"trial={self.config.protocol.folds - 1}"
            )
        try:
            return read_gram(self._manifest, WantedKernel(dataset, names.index(kernel), trial), self._data_dir)
        except DamagedError as error:
            raise self._damaged(str(error)) from error

    def model(
        self,
        dataset: str,
        method: str,
        task: str | None = None,
        *,
        regularisation: float | Sequence[float] | None = None,
        trial: int | None = None,
        repeat: int = 0,
    ) -> "FittedModel":
        """Fit a method again on all rows of a dataset, and return a model that predicts from raw rows.

        Raw rows are rows as in the source, before any preparation. The data are read from their source, and must be
        those of the run.

        Parameters
        ----------
        dataset, method
            Names as in `rows`.
        task
            "regression" or "classification"; required if the dataset has both.
        regularisation
            The regularisation value, for a kernel of trace one, or one value for each grid of the method. By default,
            the median of the values that the trials chose; if their number is even, the more regularised of the two
            middle ones.
        trial
            Fit on the training rows of this trial instead. By default, the regularisation value of the trial is used,
            and the model reproduces the stored predictions of the trial, or only those for its validation fold if the
            config has `refit = "train+validation"`.
        repeat
            Number of the repeat of the trial, from 0.

        Examples
        --------
        >>> import kernel_pipeline as kp
        >>> model = kp.open_run("runs/clinic-1491a8c0").model("clinic", "alignf")  # doctest: +SKIP
        >>> model.predict(rows), model.save("model.skops")  # doctest: +SKIP
        """
        from kernel_pipeline.run.refit import fit_model  # imports scikit-learn, which is slow

        values = None if regularisation is None else tuple(np.atleast_1d(regularisation).astype(float).tolist())
        if values is not None and not all(0 < value < np.inf for value in values):
            raise PipelineError(f"regularisation: values must be positive and finite; got {regularisation!r}")
        number = None if trial is None else self._trial_number(trial, repeat)
        wanted, plan = self._wanted(dataset, method, task, values, number)
        return fit_model(self._manifest, plan, wanted, self._data_dir)

    def combined(
        self, dataset: str, method: str, task: str | None = None, trial: int | None = None, repeat: int = 0
    ) -> "CombinedKernel":
        """Return the combined kernel of a method, `sum_k mu_k K_k / trace_k`, on all rows; it is not centered.

        `trace_k` is the trace of the centered `K_k` on the rows on which the weights were learned.

        Parameters
        ----------
        dataset, method, task
            As for `model`.
        trial
            Use the stored weights of this trial. By default, the weights are learned again on all rows.
        repeat
            Number of the repeat of the trial, from 0.

        Returns
        -------
        CombinedKernel
            Its method `matrix` returns the kernel, and `rows` are the rows of the source, in the same order.
        """
        from kernel_pipeline.run.combined_kernel import combined_kernel

        number = None if trial is None else self._trial_number(trial, repeat)
        wanted, plan = self._wanted(dataset, method, task, None, number)
        try:
            return combined_kernel(self._manifest, plan, wanted, self._data_dir)
        except DamagedError as error:
            raise self._unreadable(f"{WEIGHTS}/{dataset}/{wanted.problem}/{method}", error) from error

    def _wanted(
        self, dataset: str, method: str, task: str | None, regularisation: tuple[float, ...] | None, trial: int | None
    ) -> "tuple[WantedModel, DatasetPlan]":
        """Check the names of a model, and return the model and the plan of its dataset.

        The trial is numbered over all repeats.
        """
        from kernel_pipeline.run.chosen_values import WantedModel

        problem = self._problem(dataset, task)
        plan = dataset_plan(self._manifest, dataset)
        methods = [known for learned, known in plan.method_keys if learned == problem]
        check_method(method, problem, methods, plan.unsupported)
        return WantedModel(dataset, problem, method, regularisation, trial), plan

    def features(self, dataset: str) -> tuple[str, ...]:
        """Return the names of the feature columns, in the order in which kernels use them.

        Parameters
        ----------
        dataset
            Name as in `rows`.
        """
        self._check_dataset(dataset)
        info = self._info(dataset)
        known = next(known for known in self.config.dataset if known.name == dataset)
        if known.column_family is not None:
            return column_names(known.kernels[0], info.kernels)
        if info.features is None:
            raise RefusedError(
                f"{self._root} was written by an earlier version, which did not store the names of features. Run the "
                "sweep in another directory to get them"
            )
        return info.features.names

    def classes(self, dataset: str) -> tuple[tuple[str, ...], ...]:
        """Return the labels of each class, in the order of the classes.

        The first of two classes is -1 in stored labels, and the second is +1; more classes have one column each. The
        result is empty if labels are only used as numbers, as in a regression.
        """
        self._check_dataset(dataset)
        return self._info(dataset).classes

    def outputs(self, dataset: str) -> tuple[str, ...]:
        """Return the names of the target columns of a regression with several outputs; empty for one output."""
        self._check_dataset(dataset)
        return self._info(dataset).outputs

    def source_rows(self, dataset: str) -> Integers:
        """Return the numbers of the source rows that were used, in ascending order."""
        self._check_dataset(dataset)
        try:
            return np.sort(source_rows(self._manifest, dataset))
        except DamagedError as error:
            raise self._damaged(str(error)) from error
