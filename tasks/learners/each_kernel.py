"""`each-kernel`: a fit of every base kernel alone."""

from dataclasses import dataclass
from typing import ClassVar

from kernel_pipeline.tasks.weights.method import SingleKernelMethod, register


@register
@dataclass(frozen=True)
class EachKernel(SingleKernelMethod):
    """The error of every base kernel alone, with its own regularisation path."""

    name: ClassVar[str] = "each-kernel"
