"""What a rule for weights may ask about the base kernels."""

from typing import Protocol

from kernel_pipeline.tasks.arrays import Booleans, Floats


class Evidence(Protocol):
    """Statistics of the base kernels on a training set, scaled to trace one there."""

    @property
    def varies(self) -> Booleans:
        """(p,): which kernels are not constant."""

    def own_alignments(self) -> Floats:
        """Return the centered alignment of each kernel with the labels, (p,); NaN where it is not defined."""

    def label_products(self) -> Floats:
        """Return `a_k = <K_k, y y'>` of the centered kernels, (p,); 0 for a constant kernel."""

    def largest_alignment(self) -> tuple[Floats, float]:
        """Solve `min_{v >= 0} v'Mv - 2 v'a`; return the solution and its KKT residual relative to max|a|."""

    def unconstrained_alignment(self) -> tuple[Floats, float]:
        """Return the solution of `Mv = a` of least norm, and its residual relative to max|a|."""
