"""Evidence for the rules from the statistics of Gram matrices."""

from dataclasses import dataclass

from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.statistics.statistics import Statistics
from kernel_pipeline.tasks.weights.linear_system import minimum_norm_solution
from kernel_pipeline.tasks.weights.qp import nonnegative_qp


@dataclass(frozen=True)
class GramEvidence:
    """The statistics of p kernels on a training set, scaled to trace one, as `Evidence`."""

    statistics: Statistics

    @property
    def varies(self) -> Booleans:
        return self.statistics.varies

    def own_alignments(self) -> Floats:
        return self.statistics.own_alignments()

    def label_products(self) -> Floats:
        return self.statistics.a

    def largest_alignment(self) -> tuple[Floats, float]:
        """Solve for the weights of the largest alignment (Proposition 9); return also their KKT residual."""
        return nonnegative_qp(self.statistics.M, self.statistics.a)

    def unconstrained_alignment(self) -> tuple[Floats, float]:
        """Return the solution of `Mv = a` of least norm (Proposition 8), and its residual."""
        return minimum_norm_solution(self.statistics.M, self.statistics.a)
