"""`alignf-linear`: weights of any sign of the largest alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.evidence import Evidence
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import solved

# Largest residual of a solution, relative to max|a|.
TOLERANCE = 1e-6


@register
@dataclass(frozen=True)
class AlignfLinear(WeightRule):
    """The weights of any sign of the largest alignment, `M^-1 a` (Proposition 8)."""

    name: ClassVar[str] = "alignf-linear"
    needs_m: ClassVar[bool] = True

    def weights(self, evidence: Evidence) -> tuple[Floats, float]:
        return solved(*evidence.unconstrained_alignment(), TOLERANCE)
