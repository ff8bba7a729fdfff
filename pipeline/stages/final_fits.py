"""Fit a cell again with its chosen regularisation value, to the training and validation samples."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from kernel_pipeline.stages.cell_results import CellResult
from kernel_pipeline.stages.cells import CellTask, weights_written
from kernel_pipeline.store.inputs import Input
from kernel_pipeline.tasks.folds import Split
from kernel_pipeline.tasks.learners.paths import PathResult
from kernel_pipeline.tasks.progress import progress_part

Value = tuple[float, ...]
"""Parameters of one fit."""


@dataclass(frozen=True, kw_only=True)
class FinalFitTask(CellTask):
    """A task of one cell, whose reported fit may use the validation samples as well."""

    refit: bool = False
    """Whether the fit that is tested is a final fit, with the chosen value, to the training and validation samples."""

    def writes(self) -> tuple[Input, ...]:
        """Return the weights and the predictions of the cell; a task that writes no weights overrides this."""
        weights = weights_written(f"{self.dataset}/{self.problem}", self.method_id, [self.trial])
        return (*weights, *self.predictions_written())

    def with_final_fit(self, path: PathResult, split: Split, fit: Callable[[Split, Value], PathResult]) -> PathResult:
        """Add the results of a final fit with the best value to a path, if `refit` is set.

        Parameters
        ----------
        fit
            Function of a split, whose training set includes the validation samples, and of the parameters of the best
            fit; it returns the path of these parameters alone.
        """
        if not self.refit:
            return path
        with progress_part("final fit"):
            final = fit(split.joined(), path.values[path.best])
        return path.with_final(final, len(split.test))

    def with_final_cell(self, found: CellResult, split: Split, fit: Callable[[Split, Value], CellResult]) -> CellResult:
        """Return the result of a cell, with those of a final fit added to its path as in `with_final_fit`."""
        if not self.refit:
            return found
        path = self.with_final_fit(_path(found), split, lambda joined, value: _path(fit(joined, value)))
        return replace(found, path=path)


def _path(found: CellResult) -> PathResult:
    if found.path is None:
        raise ValueError("the fit has no path")
    return found.path
