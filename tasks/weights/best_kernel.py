"""`best-kernel`: the kernel of the largest alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.evidence import Evidence
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import all_on_the_largest, defined_alignments


@register
@dataclass(frozen=True)
class BestKernel(WeightRule):
    """All weight on the kernel of the largest alignment; on the first of several."""

    name: ClassVar[str] = "best-kernel"

    def weights(self, evidence: Evidence) -> tuple[Floats, float]:
        return all_on_the_largest(defined_alignments(evidence)), 0.0
