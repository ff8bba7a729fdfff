"""`align`: weights from the alignment of each kernel alone."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.parameters import parameter
from kernel_pipeline.tasks.weights.evidence import Evidence
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import all_on_the_largest, defined_alignments, proportional, relative


@register
@dataclass(frozen=True)
class Align(WeightRule):
    """Weights proportional to each kernel's own centered alignment (equation 3); with `q`, the solution of problem 4.

    Problem 4 asks for the largest `<K_mu, y y'>` of trace-one kernels with weights bounded in L_q norm. Its weights are
    proportional to `a_k^(1/(q-1))` (Proposition 7). As q goes to 1, the kernel with the largest `a_k` takes all the
    weight. With q = 2 they are proportional to `a_k`, while those of equation 3 are proportional to `a_k / ||K_k||_F`:
    the two agree only for kernels of equal norm.
    """

    name: ClassVar[str] = "align"

    q: float | None = parameter(
        "exponent of the L_q norm that bounds the weights (problem 4); without it, equation 3", ge=1, default=None
    )

    def weights(self, evidence: Evidence) -> tuple[Floats, float]:
        if self.q is None:
            return proportional(relative(defined_alignments(evidence))), 0.0
        products = evidence.label_products()
        if self.q == 1.0:
            return all_on_the_largest(products), 0.0
        return proportional(relative(products) ** (1.0 / (self.q - 1.0))), 0.0
