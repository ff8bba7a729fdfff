"""Define the statistics of base kernels that the rules for weights use."""

from typing import Protocol

from kernel_pipeline.tasks.arrays import Booleans, Floats


class KernelStatistics(Protocol):
    """Statistics of the base kernels on a training set, scaled to trace one there."""

    @property
    def varies(self) -> Booleans:
        """Return which kernels are not constant, (p,)."""

    def own_alignments(self) -> Floats:
        """Return the centered alignment of each kernel with the labels, (p,); NaN if it is not defined."""

    def label_products(self) -> Floats:
        """Return `a_k = <K_k, y y'>` of the centered kernels, (p,); 0 for a constant kernel."""

    def nonnegative_solution(self) -> tuple[Floats, float]:
        """Solve `min_{v >= 0} v'Mv - 2 v'a`; return the solution and its KKT residual relative to max|a|."""

    def ridge_solution(self, ridge: float) -> tuple[Floats, float]:
        """Solve the same problem with `M + ridge m I`, where m is the mean of diag(M) over the kernels that vary."""

    def bounded_solution(self, upper: float) -> tuple[Floats, float]:
        """Solve the same problem with the constraints `0 <= v_k <= upper sum(v)`."""

    def unconstrained_solution(self) -> tuple[Floats, float]:
        """Return the minimum-norm solution of `Mv = a`, and its residual relative to max|a|."""
