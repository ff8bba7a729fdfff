"""Define a cell that is to be planned. Its tasks depend on the kinds of its method and of its base kernels."""

from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernel_pipeline.config.fit import Fit
from kernel_pipeline.stages.fitted import TrainingFolds
from kernel_pipeline.stages.samples import Target
from kernel_pipeline.store.array_spec import Sizes
from kernel_pipeline.tasks.metrics import evaluated_metrics
from kernel_pipeline.tasks.statistics.permutations import Permutations
from kernel_pipeline.tasks.weights.method import Method


@dataclass(frozen=True, kw_only=True)
class DatasetFields:
    """Fields that all tasks of a dataset share."""

    dataset: str
    fingerprint: str
    repeats: int


F = TypeVar("F", bound=DatasetFields)


@dataclass(frozen=True, kw_only=True)
class PlannedCell(Generic[F]):
    """Settings from which the tasks of a cell are planned, except for its method."""

    shared: F
    trial: int
    fit_on: TrainingFolds | None
    fixed_test: bool
    fit: Fit
    target: Target
    permutations: Permutations | None
    """Permutations of the labels, for tasks that compute the alignments of their kernel."""
    sizes: Sizes

    @property
    def evaluation_fields(self) -> dict[str, Any]:
        """Return the fields of tasks that are evaluated on the test fold: metrics, and whether there is a final fit."""
        return {"metrics": self.metrics, "refit": self.fit.has_final_fit}

    @property
    def metrics(self) -> tuple[str, ...]:
        """Return the names of the metrics that are evaluated at the chosen regularisation value."""
        return tuple(metric.name for metric in evaluated_metrics(self.target.problem, len(self.target.columns)))

    def path(self, method: Method) -> tuple[tuple[float, ...], ...]:
        """Return the regularisation values of a method."""
        return tuple(self.fit.path(self.target.problem, method))

    def fields(self, method: Method) -> dict[str, Any]:
        """Return the fields that all tasks of the cell have in common."""
        return vars(self.shared) | self.own_fields(method)

    def own_fields(self, method: Method) -> dict[str, Any]:
        """Return the common fields of the tasks of the cell that other tasks of the dataset do not share."""
        return {
            "trial": self.trial,
            "fit_on": self.fit_on,
            "fixed_test": self.fixed_test,
            "target": self.target,
            "method": method,
            "metric": self.fit.metric_name(self.target.problem),
        }

    def kernel_fields(self, method: Method) -> dict[str, Any]:
        """Return the fields of tasks that fit kernels with the learner of the problem, which has one parameter."""
        values = tuple(value for (value,) in self.path(method))
        return self.fields(method) | {"values": values, "class_weight": self.fit.class_weights(self.target.problem)}
