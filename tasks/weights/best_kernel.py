"""`best-kernel`: the kernel with the largest alignment."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import defined_alignments, largest_only


@register
@dataclass(frozen=True)
class BestKernel(WeightRule):
    """All weight on the kernel with the largest alignment; on the first if there are several."""

    name: ClassVar[str] = "best-kernel"

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return largest_only(defined_alignments(statistics)), 0.0
