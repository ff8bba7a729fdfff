"""`each-kernel`: separate fits of all base kernels."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.weights.method import SingleKernelMethod, register


@register
@dataclass(frozen=True)
class EachKernel(SingleKernelMethod):
    """Fit every base kernel separately, with its own regularisation path."""

    name: ClassVar[str] = "each-kernel"
    gives_weights: ClassVar[bool] = False
    has_rows: ClassVar[bool] = False
