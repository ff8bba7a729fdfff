"""Provide figures and the report with read-only results: tables, and the arrays that belong to them."""

from collections.abc import Iterator, Mapping
from functools import cached_property

import numpy as np
import pandas as pd

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.estimates import TaskTime, task_times
from kernel_pipeline.results.best_methods import BestMethod, best_methods
from kernel_pipeline.results.cells import dataset_cells
from kernel_pipeline.results.context import TableContext
from kernel_pipeline.results.table import TABLES
from kernel_pipeline.results.tables.kernels import has_statistics
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.store.arrays import STATISTICS, WEIGHTS
from kernel_pipeline.store.reports import OK
from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.learners.one_stage import OneStageMethod
from kernel_pipeline.tasks.weights.method import Method

Key = tuple[str, str]
"""Names of a dataset and of one of its problems."""


class Results:
    """Read-only view of the results of a run.

    Parameters
    ----------
    max_problems
        Largest number of pairs of a dataset and a problem in the view; None for all. Tables are always complete.
    """

    def __init__(self, context: TableContext, max_problems: int | None = None) -> None:
        self._context, self._max_problems = context, max_problems

    def first(self, max_problems: int | None) -> "Results":
        """Return a view of the first pairs of a dataset and a problem; of all pairs if `max_problems` is None."""
        return Results(self._context, max_problems)

    @property
    def names(self) -> list[str]:
        """Return the names of all tables."""
        return list(TABLES)

    def table(self, name: str) -> pd.DataFrame | None:
        """Return a copy of a table; None if it does not apply to this run."""
        found = self._context.table(name) if name in TABLES else None
        return None if found is None else found.copy()

    def parts(self, name: str) -> Iterator[tuple[Key, pd.DataFrame]]:
        """Yield the rows of each dataset and problem of a table, in the order of the config."""
        shown = set(self.problems)
        for frame in self._context.frames(name) if name in TABLES else ():
            for (dataset, problem), rows in frame.groupby(["dataset", "task"], sort=False):
                if (dataset, problem) in shown:
                    yield (str(dataset), str(problem)), rows.copy()

    def finished_rows(self) -> Iterator[tuple[Key, pd.DataFrame]]:
        """Yield the rows of cells that have a result, by dataset and problem."""
        for key, rows in self.parts("rows"):
            finished = rows[(rows["status"] == OK) & rows["error"].notna()]
            if len(finished):
                yield key, finished

    def estimated_times(self) -> dict[str, TaskTime]:
        """Return the times of all tasks as estimated from the cost models, by name."""
        return task_times(self._context.plan, finished=self._context.finished)

    @property
    def trials(self) -> int:
        """Return the number of trials of all repeats."""
        return self._context.plan.config.protocol.trials

    @property
    def repeats(self) -> int:
        """Return the number of repeats."""
        return self._context.plan.config.protocol.repeats

    @cached_property
    def best_methods(self) -> dict[Key, BestMethod]:
        """Return the best method of each dataset and problem that has a result."""
        found = best_methods(self._context.required_table("summary"), self._context.required_table("comparison"))
        return {(best.dataset, best.problem): best for best in found if best.method}

    @property
    def problems(self) -> list[Key]:
        """Return the pairs of a dataset and a problem, in the order of the config."""
        datasets = self._context.plan.datasets
        return [(dataset.name, problem) for dataset in datasets for problem in dataset.problems][: self._max_problems]

    @cached_property
    def methods(self) -> dict[str, Method]:
        """Return the methods that have rows, by their name in tables: those of the config, then the added baselines."""
        return {method.method_id: method for method in self._context.plan.config.used_methods if method.has_rows}

    def method_number(self, method: str) -> int:
        """Return the position of a method in `methods`, by which figures choose its colour and marker."""
        names = list(self.methods)
        return names.index(method) if method in names else len(names)

    def is_one_stage(self, method: str) -> bool:
        """Return whether a method learns weights and predictor together."""
        return isinstance(self.methods.get(method), OneStageMethod)

    def uses_features(self, method: str) -> bool:
        """Return whether the predictions of a method depend on the features, unlike a majority class or a mean."""
        found = self.methods.get(method)
        return found is None or found.is_regularised

    def max_certificate(self, method: str) -> float | None:
        """Return the largest certificate with which a solution of a one-stage method is accepted; None for others."""
        found = self.methods.get(method)
        return found.max_certificate if isinstance(found, OneStageMethod) else None

    def kernels(self, dataset: str) -> tuple[str, ...]:
        """Return the names of the base kernels of a dataset."""
        return self._datasets[dataset].kernels

    def stage_of(self, task: str) -> str:
        """Return the stage of a task; empty for a task that an open-ended task requested."""
        return self._stages.get(task, "")

    def mean_weights(self, dataset: str, problem: str) -> dict[str, Floats]:
        """Return the mean weights of each method over its trials with weights; methods without weights are left out."""
        return {
            method: np.mean([self._trial_weights(dataset, problem, method, trial) for trial in trials], axis=0)
            for method, trials in self._weighted_trials(dataset, problem).items()
        }

    def kernel_alignments(self, dataset: str, problem: str) -> Floats | None:
        """Return the centered alignments of the base kernels with each other, (p, p), as means over the trials.

        None if the statistics are not known, or for rank-one kernels, for which they are not stored.
        """
        plan = self._datasets[dataset]
        if plan.rank_one or not has_statistics(plan, self._context.finished):
            return None
        M: Floats = self._context.store.read(STATISTICS, f"{dataset}/{problem}/M")
        norms = np.sqrt(np.diagonal(M, axis1=1, axis2=2))
        scale = norms[:, :, None] * norms[:, None, :]
        aligned = np.full_like(M, np.nan)  # a constant kernel has no alignment
        np.divide(M, scale, out=aligned, where=scale > 0)
        return np.asarray(aligned.mean(axis=0))

    @cached_property
    def _datasets(self) -> Mapping[str, DatasetPlan]:
        return {dataset.name: dataset for dataset in self._context.plan.datasets}

    @cached_property
    def _stages(self) -> Mapping[str, str]:
        return {task.name: task.stage for task in self._context.plan.tasks}

    def _weighted_trials(self, dataset: str, problem: str) -> dict[str, list[int]]:
        """Return the trials that have weights, by method."""
        found: dict[str, list[int]] = {}
        for cell in dataset_cells(self._datasets[dataset], self._context.finished):
            task: CellTask = cell.task
            if task.problem == problem and cell.status == OK and cell.weights:
                found.setdefault(task.method_id, []).append(task.trial)
        return found

    def _trial_weights(self, dataset: str, problem: str, method: str, trial: int) -> Floats:
        weights: Floats = self._context.store.read(WEIGHTS, f"{dataset}/{problem}/{method}", trial)
        return weights
