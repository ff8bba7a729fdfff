"""`unif`: equal weights."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import proportional


@register
@dataclass(frozen=True)
class Unif(WeightRule):
    """Equal weights for all kernels that vary on the training set."""

    name: ClassVar[str] = "unif"

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        return proportional(statistics.varies.astype(np.float64)), 0.0
