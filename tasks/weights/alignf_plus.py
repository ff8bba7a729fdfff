"""`alignf-plus`: nonnegative weights that maximise the alignment, with an upper bound on each weight."""

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
class AlignfPlus(WeightRule):
    """Weights `0 <= mu_k <= upper`, which sum to one, that maximise the alignment (ALIGNF+).

    With `upper = 1`, these are the weights of `alignf`. A bound below `1 / p`, for p kernels that vary, gives equal
    weights.
    """

    name: ClassVar[str] = "alignf-plus"
    needs_m: ClassVar[bool] = True
    preload: ClassVar[tuple[str, ...]] = ("osqp",)

    upper: float = parameter("largest weight of a kernel; all weights sum to one", gt=0, le=1, default=0.5)

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return certified_weights(*statistics.bounded_solution(self.upper), TOLERANCE)
