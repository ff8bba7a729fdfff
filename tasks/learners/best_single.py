"""`best-single`: the base kernel with the smallest validation error."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kernel_pipeline.tasks.arrays import Floats
from kernel_pipeline.tasks.errors import NoResultError
from kernel_pipeline.tasks.weights.method import SingleKernelMethod, register


@register
@dataclass(frozen=True)
class BestSingle(SingleKernelMethod):
    """Choose one base kernel together with its regularisation value on the validation fold."""

    name: ClassVar[str] = "best-single"
    is_baseline: ClassVar[bool] = True


def smallest_error_kernel(validation_errors: Floats) -> int:
    """Return the index of the kernel with the smallest validation error; of several such kernels, the first one.

    Parameters
    ----------
    validation_errors
        Smallest validation error of each kernel, (p,); NaN for a kernel without a fit.

    Raises
    ------
    NoResultError
        If no kernel has a fit.

    >>> smallest_error_kernel(np.array([np.nan, 0.25, 0.125, 0.125]))
    2
    """
    if np.isnan(validation_errors).all():
        raise NoResultError("no base kernel has a fit; kernels.csv states why")
    return int(np.nanargmin(validation_errors))
