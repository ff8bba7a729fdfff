"""`align`: weights from the separate alignments of the kernels."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.parameters import parameter
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import (
    defined_alignments,
    largest_only,
    proportional,
    relative_to_largest,
)


@register
@dataclass(frozen=True)
class Align(WeightRule):
    """Weights proportional to each kernel's own centered alignment (equation 3); with `q`, the solution of problem 4.

    Problem 4 maximises `<K_mu, y y'>` of trace-one kernels with weights bounded in L_q norm. Its weights are
    proportional to `a_k^(1/(q-1))` (Proposition 7). As q goes to 1, the kernel with the largest `a_k` gets all the
    weight. For q = 2 they are proportional to `a_k`, while those of equation 3 are proportional to `a_k / ||K_k||_F`;
    the two agree only for kernels of equal norm.
    """

    name: ClassVar[str] = "align"

    q: float | None = parameter(
        "exponent of the L_q norm that bounds the weights (problem 4); without it, equation 3", ge=1, default=None
    )

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        if self.q is None:
            return proportional(relative_to_largest(defined_alignments(statistics))), 0.0
        products = statistics.label_products()
        if self.q == 1.0:
            return largest_only(products), 0.0
        return proportional(relative_to_largest(products) ** (1.0 / (self.q - 1.0))), 0.0
