"""`alignf`: nonnegative weights that maximise the alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import certified_weights

# Largest KKT residual of a solution, relative to max|a|.
TOLERANCE = 1e-7


@register
@dataclass(frozen=True)
class Alignf(WeightRule):
    """Weights `mu >= 0` that maximise the alignment, from the quadratic program of Proposition 9."""

    name: ClassVar[str] = "alignf"
    preload: ClassVar[tuple[str, ...]] = ("osqp",)

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return certified_weights(*statistics.nonnegative_solution(), TOLERANCE)
