"""Collect the results of the cells of a run: their fits and their weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_pipeline.plan.dataset_plan import DatasetPlan
from kernel_pipeline.plan.failures import failures
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.stages.cell_results import Alignments, CellResult, TrialWeights, WeightsResult
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.reports import OK, TaskReport

CellKey = tuple[str, str, int]
"""Problem and method of a cell, and its trial, numbered over all repeats."""


@dataclass(frozen=True)
class Cell:
    """One combination of dataset, problem, method and trial, with its results."""

    task: CellTask
    result: CellResult
    weights: WeightsResult | None
    """None if the method has no weights, such as `linear`, or if they are not known, because a task failed."""
    folds: int
    """Number of trials of a repeat."""

    @property
    def repeat(self) -> int:
        """Return the number of the repeat."""
        return self.task.trial // self.folds

    @property
    def trial(self) -> int:
        """Return the number of the trial in its repeat."""
        return self.task.trial % self.folds

    @property
    def key(self) -> dict[str, object]:
        """Return the columns that identify the cell in a table."""
        task = self.task
        names = {"dataset": task.dataset, "task": task.problem, "method": task.method_id}
        return {**names, "repeat": self.repeat, "trial": self.trial}

    @property
    def status(self) -> str:
        """Return the status of the cell: "ok", or the reason why the weights or the fit failed."""
        return self.weights.status if self.weights and self.weights.status != OK else self.result.status

    @property
    def alignments(self) -> Alignments:
        """Return the alignments of the learned kernel, or of its positive part if weights are negative."""
        return (self.weights and self.weights.alignments) or self.result.alignments or Alignments()


def dataset_cells(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> Iterator[Cell]:
    """Yield the cells of a dataset, in the order of the plan.

    Raises
    ------
    DamagedError
        If the ledger contains a result that no task could have written.
    """
    weights, reasons = _stored_weights(dataset, finished), failures(dataset, finished)
    for task in dataset.tasks:
        if isinstance(task, CellTask) and task.result_type is CellResult:
            reason = reasons.get(task.name)
            result = CellResult(reason) if reason else read_result(task, finished[task.name], CellResult)
            stored = weights.get((task.problem, task.method_id, task.trial), result.weights)
            yield Cell(task, result, stored, dataset.folds)


def _stored_weights(dataset: DatasetPlan, finished: Mapping[str, TaskReport]) -> dict[CellKey, WeightsResult]:
    """Return the results of the weights stage."""
    return {
        (task.problem, task.method_id, trial): weights
        for task in dataset.of(WeightsTask)
        if (entry := finished.get(task.name)) and not entry.failed
        for trial, weights in read_result(task, entry, TrialWeights).trials.items()
    }
