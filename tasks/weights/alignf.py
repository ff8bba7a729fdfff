"""`alignf`: nonnegative weights of the largest alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.evidence import Evidence
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import solved

# Largest KKT residual of a solution, relative to max|a|.
TOLERANCE = 1e-7


@register
@dataclass(frozen=True)
class Alignf(WeightRule):
    """The weights `mu >= 0` of the largest alignment, by the quadratic program of section 3.2.2."""

    name: ClassVar[str] = "alignf"
    preload: ClassVar[tuple[str, ...]] = ("osqp",)

    def weights(self, evidence: Evidence) -> tuple[Floats, float]:
        return solved(*evidence.largest_alignment(), TOLERANCE)
