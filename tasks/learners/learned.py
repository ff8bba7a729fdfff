"""What a one-stage method learns."""

from dataclasses import dataclass

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels

# Of `y'K_k y` beside `y'y`, for a kernel of trace one: less is rounding.
UNSEEN = 1e-14


@dataclass(frozen=True)
class Learned:
    """Weights, and the predictor `x -> sum_i coefficients_i K_mu(x, x_i) + intercept`."""

    weights: Floats
    """(p,): mu >= 0, as the method's own problem scales them."""
    coefficients: Floats
    """(n,)"""
    intercept: float
    certificate: float
    """Relative duality gap or KKT residual, whichever the method promises."""


def relative_gap(upper: float, lower: float) -> float:
    """The relative duality gap; below 0 is rounding."""
    return max(0.0, (upper - lower) / upper)


def label_forms(kernels: BaseKernels, labels: Floats) -> Floats:
    """(p,): `y'K_k y` of centered labels.

    Raises
    ------
    NoWeightsError
        If the labels are constant, or no kernel sees anything of them.
    """
    forms = kernels.images(labels).forms
    if not forms.max(initial=0.0) > UNSEEN * float(labels @ labels):
        raise NoWeightsError
    return forms
