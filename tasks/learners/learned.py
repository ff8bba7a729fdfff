"""Define the result of a one-stage method for one value of its path."""

from dataclasses import dataclass

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoWeightsError
from kernel_pipeline.tasks.kernels.base_kernels import BaseKernels

# Smallest `y'K_k y` of a kernel of trace one, relative to `y'y`, that is not attributed to rounding.
MIN_LABEL_FORM = 1e-14


@dataclass(frozen=True)
class OneStageSolution:
    """Weights, and the predictor `x -> sum_i coefficients_i K_mu(x, x_i) + intercept`."""

    weights: Floats
    """Weights mu >= 0 in the scale of the method's own problem, (p,)."""
    coefficients: Floats
    """Coefficients of the predictor, (n,)."""
    intercept: float
    certificate: float
    """Relative duality gap or KKT residual, depending on the method."""


def relative_gap(upper: float, lower: float) -> float:
    """Return the relative duality gap; negative values, which are due to rounding, become 0."""
    return max(0.0, (upper - lower) / upper)


def label_forms(kernels: BaseKernels, labels: Floats) -> Floats:
    """Return `y'K_k y` of centered labels, (p,).

    Raises
    ------
    NoWeightsError
        If the labels are constant, or orthogonal to all kernels.
    """
    forms = kernels.images(labels).forms
    if not forms.max(initial=0.0) > MIN_LABEL_FORM * float(labels @ labels):
        raise NoWeightsError
    return forms
