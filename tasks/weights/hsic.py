"""`hsic`: weights that maximise the unnormalised alignment."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.weights.kernel_statistics import KernelStatistics
from kernel_pipeline.tasks.weights.method import WeightRule, register
from kernel_pipeline.tasks.weights.proportional import proportional, relative_to_largest


@register
@dataclass(frozen=True)
class Hsic(WeightRule):
    """Weights `mu >= 0` with `||mu||_2 <= 1` that maximise `<K_mu, y y'>`, the empirical HSIC up to a factor.

    The kernels are centered and scaled to trace one, and the alignment is not divided by the norm of `K_mu`, so that
    weights do not depend on the products of the kernels with each other. They are those of `align` with q = 2.
    """

    name: ClassVar[str] = "hsic"

    def weights(self, statistics: KernelStatistics) -> tuple[Floats, float]:
        products = statistics.label_products()
        weights = proportional(relative_to_largest(np.maximum(products, 0.0)))
        return weights, hsic_residual(products, weights)


def hsic_residual(a: Floats, weights: Floats) -> float:
    """Return the violation of the KKT conditions of `max mu'a` such that `mu >= 0` and `||mu|| <= 1`, up to scale.

    The conditions are `a = s mu + b` with `s > 0`, `b <= 0` and `b = 0` where `mu > 0`; the residual is relative to
    max|a|.
    """
    scale = float(np.abs(a).max(initial=0.0))
    if scale == 0.0 or not weights.any():
        return float("inf")
    multiplier = float(a @ weights) / float(weights @ weights)
    rest = a - multiplier * weights
    violation = np.where(weights > 0, np.abs(rest), np.maximum(rest, 0.0))
    return float(max(violation.max(), np.maximum(-weights, 0.0).max()) / scale)
