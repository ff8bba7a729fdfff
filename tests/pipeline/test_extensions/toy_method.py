"""A rule with a parameter, as a user would write it: one file."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.parameters import parameter
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule


@dataclass(frozen=True)
class TopKernels(WeightRule):
    """Equal weights for the kernels of the largest alignments."""

    name: ClassVar[str] = "top-kernels"

    count: int = parameter("number of kernels that get weight", ge=1, default=2)

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        alignments = np.nan_to_num(statistics.own_alignments(), nan=0.0)
        chosen = np.argsort(-alignments, kind="stable")[: self.count]
        weights = np.zeros_like(alignments)
        weights[chosen] = 1.0 / len(chosen)
        return weights, 0.0
