"""Cells of a finished run: the results of each cell's fit and, where another task found them, of its weights."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kernel_pipeline.plan.failures import failures
from kernel_pipeline.plan.plan import DatasetPlan
from kernel_pipeline.results.checks import read_result
from kernel_pipeline.stages.cell_results import Alignments, CellResult, TrialWeights, WeightsResult
from kernel_pipeline.stages.cells import CellTask
from kernel_pipeline.stages.weights import WeightsTask
from kernel_pipeline.store.reports import OK, Finished

CellKey = tuple[str, str, int]
"""Problem, method and trial of a cell."""


@dataclass(frozen=True)
class Cell:
    """One combination of dataset, problem, method and trial, with its results."""

    task: CellTask
    result: CellResult
    weights: WeightsResult | None
    """None if the weights are not known, because a task failed."""

    @property
    def key(self) -> dict[str, object]:
        """Columns that identify the cell in a table."""
        task = self.task
        return {"dataset": task.dataset, "task": task.problem, "method": task.method_id, "trial": task.trial}

    @property
    def status(self) -> str:
        """Status of the cell: "ok", or why the weights or the fit failed."""
        return self.weights.status if self.weights and self.weights.status != OK else self.result.status

    @property
    def alignments(self) -> Alignments:
        """Alignments of the learned kernel, or of its positive part where weights are negative."""
        return (self.weights and self.weights.alignments) or self.result.alignments or Alignments(None, None)


def dataset_cells(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> Iterator[Cell]:
    """Yield the cells of a dataset, in the order of the plan.

    Raises
    ------
    DamagedError
        If the ledger holds a result that no task writes.
    """
    weights, reasons = _stored_weights(dataset, finished), failures(dataset, finished)
    for task in dataset.tasks:
        if isinstance(task, CellTask) and task.result_type is CellResult:
            reason = reasons.get(task.name)
            result = CellResult(reason) if reason else read_result(task, finished[task.name], CellResult)
            yield Cell(task, result, weights.get((task.problem, task.method_id, task.trial), result.weights))


def _stored_weights(dataset: DatasetPlan, finished: Mapping[str, Finished]) -> dict[CellKey, WeightsResult]:
    """Return the results of the weights stage."""
    return {
        (task.problem, task.method_id, trial): weights
        for task in dataset.of(WeightsTask)
        if (entry := finished.get(task.name)) and not entry.failed
        for trial, weights in read_result(task, entry, TrialWeights).trials.items()
    }
