"""`alignf-linear`: weights of any sign that maximise the alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import certified_weights

# Largest residual of a solution, relative to max|a|.
TOLERANCE = 1e-6


@register
@dataclass(frozen=True)
class AlignfLinear(WeightRule):
    """Weights of any sign that maximise the alignment, `M^-1 a` (Proposition 8)."""

    name: ClassVar[str] = "alignf-linear"
    needs_m: ClassVar[bool] = True
    any_sign: ClassVar[bool] = True

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return certified_weights(*statistics.unconstrained_solution(), TOLERANCE)
