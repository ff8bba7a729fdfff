"""`alignf-ridge`: nonnegative weights that maximise the alignment, with a ridge on the weights."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.parameters import parameter
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import certified_weights

# Largest KKT residual of a solution, relative to max|a|.
TOLERANCE = 1e-7


@register
@dataclass(frozen=True)
class AlignfRidge(WeightRule):
    """Weights from `min_{v >= 0} v'(M + ridge m I)v - 2 v'a`, where m is the mean of diag(M) over varying kernels.

    The ridge makes the solution unique and distributes the weight of similar kernels evenly. As it grows, the weights
    approach weights that are proportional to a; as it goes to 0, they approach those of `alignf`.
    """

    name: ClassVar[str] = "alignf-ridge"
    preload: ClassVar[tuple[str, ...]] = ("osqp",)

    ridge: float = parameter(
        "ridge on the weights, relative to the mean squared norm of the kernels that vary", gt=0, default=0.1
    )

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return certified_weights(*statistics.ridge_solution(self.ridge), TOLERANCE)
