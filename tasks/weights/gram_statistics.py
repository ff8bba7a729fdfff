"""Provide the statistics of Gram matrices to the rules for weights."""

from dataclasses import dataclass

import numpy as np

from kernel_pipeline.tasks.arrays import Booleans, Floats
from kernel_pipeline.tasks.statistics.statistics import Statistics
from kernel_pipeline.tasks.weights.bounded_qp import bounded_qp
from kernel_pipeline.tasks.weights.linear_system import minimum_norm_solution
from kernel_pipeline.tasks.weights.qp import nonnegative_qp


@dataclass(frozen=True)
class GramStatistics:
    """Implementation of `KernelStatistics` for the Gram matrices of p kernels, scaled to trace one."""

    statistics: Statistics

    @property
    def varies(self) -> Booleans:
        return self.statistics.varies

    def own_alignments(self) -> Floats:
        return self.statistics.own_alignments()

    def label_products(self) -> Floats:
        return self.statistics.a

    def nonnegative_solution(self) -> tuple[Floats, float]:
        """Return the weights that maximise the alignment (Proposition 9), and their KKT residual."""
        return nonnegative_qp(self.statistics.M, self.statistics.a)

    def ridge_solution(self, ridge: float) -> tuple[Floats, float]:
        """Return the solution with a ridge relative to the mean of diag(M) of varying kernels, and its KKT residual."""
        M, a = self.statistics.M, self.statistics.a
        varying = np.diag(M) > 0
        added = ridge * float(np.diag(M)[varying].mean()) if varying.any() else 0.0
        return nonnegative_qp(M + np.diag(np.where(varying, added, 0.0)), a)

    def bounded_solution(self, upper: float) -> tuple[Floats, float]:
        """Return the weights that maximise the alignment with an upper bound on each, and their KKT residual."""
        return bounded_qp(self.statistics.M, self.statistics.a, np.full(len(self.statistics.a), upper))

    def unconstrained_solution(self) -> tuple[Floats, float]:
        """Return the minimum-norm solution of `Mv = a` (Proposition 8), and its residual."""
        return minimum_norm_solution(self.statistics.M, self.statistics.a)
